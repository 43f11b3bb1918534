"""What the approver's workspace keeps: claims, drafts, duties, routes, notices, and how well people decide."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import agentops.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("agentops", "0011_agent_owner"),
        ("approvals", "0003_facts_of_a_request"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Absence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("begins", models.DateTimeField()),
                ("ends", models.DateTimeField()),
            ],
            options={
                "ordering": ["-begins"],
            },
        ),
        migrations.CreateModel(
            name="Act",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("routed", "Routed"),
                            ("claimed", "Claimed"),
                            ("released", "Released"),
                            ("skipped", "Skipped"),
                            ("assigned", "Assigned"),
                            ("escalated", "Escalated"),
                            ("reminded", "Reminded"),
                            ("asked", "Asked the agent"),
                            ("answered", "The agent answered"),
                            ("edited", "Edited and proposed anew"),
                            ("taken_over", "Session taken over"),
                            ("taken_back", "Decision taken back"),
                        ],
                        max_length=12,
                    ),
                ),
                ("words", models.CharField(blank=True, max_length=2000)),
                ("facts", models.JSONField(default=dict)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["at", "id"],
            },
        ),
        migrations.CreateModel(
            name="BusinessHours",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                ("timezone", models.CharField(help_text="An IANA name, such as Europe/Vienna.", max_length=64)),
                ("week", models.JSONField(help_text="Seven lists, Monday first, of pairs of local times.")),
                (
                    "holidays",
                    models.JSONField(
                        blank=True, default=list, help_text="Dates such as 2026-12-25 on which nobody works."
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "business hours",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Delegation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("begins", models.DateTimeField()),
                ("ends", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-begins"],
            },
        ),
        migrations.CreateModel(
            name="Detector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="Shown to approvers, such as Legal threat.", max_length=60)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("phrases", "One of these phrases"),
                            ("personal", "Personal data: card and bank numbers, birth dates, identity documents"),
                        ],
                        default="phrases",
                        max_length=10,
                    ),
                ),
                (
                    "phrases",
                    models.JSONField(
                        blank=True, default=list, help_text="A list of phrases; case and spacing do not matter."
                    ),
                ),
                (
                    "rank",
                    models.PositiveSmallIntegerField(
                        default=10, help_text="Of several that find something the lowest decides."
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
            ],
            options={
                "ordering": ["rank", "name"],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fields", models.JSONField(default=dict)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("saved_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Drill",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("content", models.JSONField()),
                ("right", models.CharField(choices=[("approve", "Approved"), ("reject", "Rejected")], max_length=8)),
                ("lesson", models.CharField(max_length=500)),
                ("is_active", models.BooleanField(default=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="DrillAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("verdict", models.CharField(choices=[("approve", "Approved"), ("reject", "Rejected")], max_length=8)),
                (
                    "confidence",
                    models.PositiveSmallIntegerField(help_text="How sure the person was, 50 to 100 percent."),
                ),
                ("right", models.BooleanField()),
                ("dwell_ms", models.PositiveIntegerField(null=True)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "why",
                    models.CharField(
                        choices=[
                            ("requester", "asked for it"),
                            ("editor", "changed it"),
                            ("owner", "owns the agent"),
                            ("beneficiary", "gains by it"),
                        ],
                        max_length=12,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Exemplar",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "proposed"),
                            ("accepted", "accepted"),
                            ("declined", "declined"),
                            ("retired", "no longer shown"),
                        ],
                        default="proposed",
                        max_length=8,
                    ),
                ),
                ("why", models.CharField(max_length=500)),
                ("proposed_at", models.DateTimeField()),
                ("reviewed_at", models.DateTimeField(null=True)),
                ("review", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "ordering": ["-proposed_at"],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agentops.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("channel", models.CharField(choices=[("mail", "E-mail"), ("slack", "Slack")], max_length=5)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("asked", "A request waits"),
                            ("reminded", "Time runs out"),
                            ("escalated", "Escalated"),
                            ("assigned", "Assigned"),
                            ("answered", "The agent answered"),
                            ("closed", "Decided, expired or withdrawn"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "urgent",
                    models.BooleanField(
                        default=False, help_text="Sent in quiet hours and without waiting for a digest."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("sent", "sent"),
                            ("failed", "given up"),
                            ("dropped", "no longer of use"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("leased_until", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("address", models.CharField(blank=True, max_length=200)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="NoticePreference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mail", models.BooleanField(default=True)),
                (
                    "slack_user",
                    models.CharField(blank=True, help_text="The member id in Slack, such as U012AB3CD.", max_length=40),
                ),
                ("timezone", models.CharField(default="UTC", max_length=64)),
                ("quiet_from", models.TimeField(blank=True, null=True)),
                ("quiet_to", models.TimeField(blank=True, null=True)),
                (
                    "digest_minutes",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="Gather what is not urgent for so many minutes. 0: each by itself."
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OnCallShift",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("begins", models.DateTimeField()),
                ("ends", models.DateTimeField()),
            ],
            options={
                "ordering": ["begins"],
            },
        ),
        migrations.CreateModel(
            name="Regret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("undone", "undone"),
                            ("disputed", "disputed by the customer"),
                            ("marked", "marked wrong"),
                        ],
                        max_length=8,
                    ),
                ),
                ("words", models.CharField(blank=True, max_length=500)),
                ("by", models.CharField(max_length=150)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Rung",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("place", models.PositiveSmallIntegerField(help_text="1 is the first step.")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("group", "A group"),
                            ("person", "A person, such as the manager"),
                            ("on_call", "Whoever is on call"),
                        ],
                        max_length=8,
                    ),
                ),
                ("after_percent", models.PositiveSmallIntegerField(help_text="Of the time to decide, 1 to 99.")),
            ],
            options={
                "ordering": ["queue", "place"],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=600)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="SlackChannel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("channel", models.CharField(help_text="The channel's id, such as C012AB3CD.", max_length=40)),
                ("is_active", models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name="ToolRoute",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tag", models.SlugField(help_text="A tag of tools, such as money or outbound.")),
            ],
            options={
                "ordering": ["tag"],
            },
        ),
        migrations.AlterModelOptions(
            name="approvalqueue",
            options={
                "ordering": ["name"],
                "permissions": [
                    ("see_queue", "Can see requests of this queue"),
                    ("decide_queue", "Can decide requests of this queue"),
                    ("manage_queue", "Can assign requests of this queue and read its figures"),
                ],
            },
        ),
        migrations.RemoveConstraint(
            model_name="decision",
            name="a_person_decides_once",
        ),
        migrations.AddField(
            model_name="approvalqueue",
            name="bulk_approve",
            field=models.BooleanField(
                default=False,
                help_text="Up to ten reversible requests of one tool may be approved together. Never money, messages that leave the house, or permissions.",
            ),
        ),
        migrations.AddField(
            model_name="approvalqueue",
            name="on_expiry",
            field=models.CharField(
                choices=[
                    ("nothing", "Do nothing: the agent is told, and goes on"),
                    ("hand_over", "Hand the ticket over to a person"),
                ],
                default="nothing",
                help_text="What happens to the work when a request expires. The call itself is never made.",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="asks",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.F("reasons"),
                    models.Value('strict $[*] ? (@[1] == "ask")[0]'),
                    function="jsonb_path_query_array",
                ),
                help_text="The rules among the reasons because of which a person is asked, in the order in which they fired.",
                output_field=models.JSONField(),
            ),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="assigned_to",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="claimed_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="claimed_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="dispatch_at",
            field=models.DateTimeField(help_text="Approved, and may be taken back until then.", null=True),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="next_at",
            field=models.DateTimeField(help_text="When the sweep next reminds or escalates.", null=True),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="opened_in",
            field=models.CharField(
                default="", max_length=50, help_text="The queue that it was opened in, which the digest covers."
            ),
            preserve_default=False,
        ),
        migrations.RunSQL(
            "UPDATE approvals_approvalrequest r SET opened_in = q.slug"
            " FROM approvals_approvalqueue q WHERE q.id = r.queue_id",
            migrations.RunSQL.noop,
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="reminded",
            field=models.PositiveSmallIntegerField(default=0, help_text="How many reminders were sent."),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="routed_by",
            field=models.CharField(blank=True, help_text="Why it is in another queue than the tool's.", max_length=200),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="rung",
            field=models.PositiveSmallIntegerField(default=0, help_text="How far it was escalated; 0: not."),
        ),
        migrations.AddField(
            model_name="decision",
            name="acknowledged",
            field=models.CharField(blank=True, help_text="The fact that was typed.", max_length=200),
        ),
        migrations.AddField(
            model_name="decision",
            name="dwell_ms",
            field=models.PositiveIntegerField(help_text="From showing the page to deciding.", null=True),
        ),
        migrations.AddField(
            model_name="decision",
            name="on_behalf_of",
            field=models.ForeignKey(
                help_text="Who delegated it.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="decision",
            name="stepped_up",
            field=models.CharField(blank=True, help_text="How the person proved to be there.", max_length=20),
        ),
        migrations.AddField(
            model_name="decision",
            name="taken_back_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(condition=models.Q(("state", "pending")), fields=["next_at"], name="request_next"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(
                condition=models.Q(("dispatch_at__isnull", False)), fields=["dispatch_at"], name="request_dispatch"
            ),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["tenant", "tool", "-closed_at"], name="request_similar"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(
                condition=models.Q(("state", "pending")), fields=["queue", "tool", "target"], name="request_alike"
            ),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["queue", "tool", "subject_id"],
                name="request_about_same",
            ),
        ),
        migrations.AddConstraint(
            model_name="approvalrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("claimed_by__isnull", True), ("claimed_until__isnull", True)),
                    models.Q(("claimed_by__isnull", False), ("claimed_until__isnull", False)),
                    _connector="OR",
                ),
                name="a_claim_ends",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.UniqueConstraint(
                condition=models.Q(("taken_back_at", None)), fields=("request", "person"), name="a_person_decides_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("on_behalf_of", None),
                    models.Q(("on_behalf_of", models.F("person")), _negated=True),
                    _connector="OR",
                ),
                name="nobody_decides_for_oneself",
            ),
        ),
        migrations.AddField(
            model_name="absence",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="absence",
            name="stand_in",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="absence",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="act",
            name="person",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="act",
            name="request",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="acts", to="approvals.approvalrequest"
            ),
        ),
        migrations.AddField(
            model_name="businesshours",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="approvalqueue",
            name="hours",
            field=models.ForeignKey(
                blank=True,
                help_text="The time to decide runs in these hours only. Empty: around the clock.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to="approvals.businesshours",
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="giver",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="queue",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="approvals.approvalqueue",
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="taker",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="detector",
            name="queue",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="approvals.approvalqueue"
            ),
        ),
        migrations.AddField(
            model_name="detector",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="request",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.approvalrequest"
            ),
        ),
        migrations.AddField(
            model_name="drill",
            name="queue",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.approvalqueue"
            ),
        ),
        migrations.AddField(
            model_name="drill",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="drillanswer",
            name="drill",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="answers", to="approvals.drill"
            ),
        ),
        migrations.AddField(
            model_name="drillanswer",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="exclusion",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="exclusion",
            name="request",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="exclusions", to="approvals.approvalrequest"
            ),
        ),
        migrations.AddField(
            model_name="exemplar",
            name="proposed_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="exemplar",
            name="request",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="exemplar", to="approvals.approvalrequest"
            ),
        ),
        migrations.AddField(
            model_name="exemplar",
            name="reviewed_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="exemplar",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="notice",
            name="person",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="notice",
            name="request",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.approvalrequest"
            ),
        ),
        migrations.AddField(
            model_name="notice",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="noticepreference",
            name="person",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="oncallshift",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="oncallshift",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="regret",
            name="request",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="regrets", to="approvals.approvalrequest"
            ),
        ),
        migrations.AddField(
            model_name="rung",
            name="group",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="auth.group"
            ),
        ),
        migrations.AddField(
            model_name="rung",
            name="person",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="rung",
            name="queue",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="ladder", to="approvals.approvalqueue"
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="slackchannel",
            name="queue",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="slack", to="approvals.approvalqueue"
            ),
        ),
        migrations.AddField(
            model_name="slackchannel",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddField(
            model_name="toolroute",
            name="queue",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="approvals.approvalqueue"
            ),
        ),
        migrations.AddField(
            model_name="toolroute",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agentops.tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="absence",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends__gt", models.F("begins"))), name="an_absence_ends_later"
            ),
        ),
        migrations.AddConstraint(
            model_name="businesshours",
            constraint=models.UniqueConstraint(fields=("tenant", "name"), name="hours_names_are_unique"),
        ),
        migrations.AddConstraint(
            model_name="delegation",
            constraint=models.CheckConstraint(
                condition=models.Q(("giver", models.F("taker")), _negated=True), name="nobody_delegates_to_oneself"
            ),
        ),
        migrations.AddConstraint(
            model_name="delegation",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends__gt", models.F("begins"))), name="a_delegation_ends_after_it_begins"
            ),
        ),
        migrations.AddConstraint(
            model_name="detector",
            constraint=models.UniqueConstraint(fields=("tenant", "name"), name="detector_names_are_unique"),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.UniqueConstraint(fields=("request", "person"), name="one_draft_a_person"),
        ),
        migrations.AddConstraint(
            model_name="drillanswer",
            constraint=models.UniqueConstraint(fields=("drill", "person"), name="a_person_answers_a_drill_once"),
        ),
        migrations.AddConstraint(
            model_name="drillanswer",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 50), ("confidence__lte", 100)), name="confidence_is_a_share"
            ),
        ),
        migrations.AddConstraint(
            model_name="exclusion",
            constraint=models.UniqueConstraint(fields=("request", "person", "why"), name="one_exclusion_a_reason"),
        ),
        migrations.AddConstraint(
            model_name="exemplar",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("reviewed_by", None),
                    models.Q(("reviewed_by", models.F("proposed_by")), _negated=True),
                    _connector="OR",
                ),
                name="nobody_reviews_their_own_exemplar",
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(condition=models.Q(("state", "waiting")), fields=["due_at"], name="notice_due"),
        ),
        migrations.AddConstraint(
            model_name="notice",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "waiting")),
                fields=("request", "person", "channel", "kind"),
                name="one_waiting_notice_a_kind",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="oncallshift",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends__gt", models.F("begins"))), name="a_shift_ends_after_it_begins"
            ),
        ),
        migrations.AddConstraint(
            model_name="regret",
            constraint=models.UniqueConstraint(fields=("request", "kind"), name="one_regret_a_kind"),
        ),
        migrations.AddConstraint(
            model_name="rung",
            constraint=models.UniqueConstraint(fields=("queue", "place"), name="one_rung_a_place"),
        ),
        migrations.AddConstraint(
            model_name="rung",
            constraint=models.CheckConstraint(
                condition=models.Q(("after_percent__gte", 1), ("after_percent__lte", 99)), name="a_rung_is_in_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="rung",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("group__isnull", False), ("kind", "group"), ("person__isnull", True)),
                    models.Q(("group__isnull", True), ("kind", "person"), ("person__isnull", False)),
                    models.Q(("group__isnull", True), ("kind", "on_call"), ("person__isnull", True)),
                    _connector="OR",
                ),
                name="a_rung_names_whom_it_calls",
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(fields=("tenant", "person", "name"), name="view_names_are_unique"),
        ),
        migrations.AddConstraint(
            model_name="toolroute",
            constraint=models.UniqueConstraint(fields=("tenant", "tag"), name="one_route_a_tag"),
        ),
        migrations.RunSQL(
            "CREATE INDEX person_mailbox ON auth_user ("
            "nullif(lower(regexp_replace(normalize(btrim(email), NFKC), '\\+[^@]*@', '@')), ''))",
            "DROP INDEX person_mailbox",
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="decision",
            trigger=pgtrigger.compiler.Trigger(
                name="a_decision_holds",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    declare="DECLARE asked record;",
                    func="\n    SELECT state, digest INTO asked FROM approvals_approvalrequest WHERE id = NEW.request_id FOR UPDATE;\n    IF asked.state IS DISTINCT FROM 'pending' THEN\n      RAISE EXCEPTION 'only a pending request is decided' USING ERRCODE = 'check_violation';\n    END IF;\n    IF asked.digest IS DISTINCT FROM NEW.digest THEN\n      RAISE EXCEPTION 'a decision is about what the request says' USING ERRCODE = 'check_violation';\n    END IF;\n    IF EXISTS (\nSELECT x.why FROM approvals_exclusion x\nJOIN auth_user barred ON barred.id = x.person_id\nJOIN auth_user voter ON voter.id = barred.id OR nullif(lower(regexp_replace(normalize(btrim(voter.email), NFKC), '\\+[^@]*@', '@')), '') = nullif(lower(regexp_replace(normalize(btrim(barred.email), NFKC), '\\+[^@]*@', '@')), '')\nWHERE x.request_id = NEW.request_id AND voter.id IN (NEW.person_id, NEW.on_behalf_of_id)) THEN\n      RAISE EXCEPTION 'an excluded person decides in no way' USING ERRCODE = 'check_violation';\n    END IF;\n    IF EXISTS (\nSELECT 1 FROM approvals_decision d\nJOIN auth_user other ON other.id IN (d.person_id, d.on_behalf_of_id)\nJOIN auth_user voter ON voter.id = other.id OR nullif(lower(regexp_replace(normalize(btrim(voter.email), NFKC), '\\+[^@]*@', '@')), '') = nullif(lower(regexp_replace(normalize(btrim(other.email), NFKC), '\\+[^@]*@', '@')), '')\nWHERE d.request_id = NEW.request_id AND d.taken_back_at IS NULL AND voter.id IN (NEW.person_id, NEW.on_behalf_of_id)) THEN\n      RAISE EXCEPTION 'decisions are by different people' USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NEW;",
                    hash="f5503808052bfe12c8e09ab64e23a078062accef",
                    operation="INSERT",
                    pgid="pgtrigger_a_decision_holds_d55f0",
                    table="approvals_decision",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="decision",
            trigger=pgtrigger.compiler.Trigger(
                name="a_decision_stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF TG_OP = 'UPDATE' THEN\n      IF OLD.taken_back_at IS NULL AND to_jsonb(NEW) - 'taken_back_at' = to_jsonb(OLD) - 'taken_back_at' THEN\n        RETURN NEW;\n      END IF;\n    END IF;\n    RAISE EXCEPTION 'a decision never changes; it is taken back once' USING ERRCODE = 'check_violation';",
                    hash="5e8468651f77cd8d0ada63e20a4fdf358457d028",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_a_decision_stays_6f728",
                    table="approvals_decision",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="exclusion",
            trigger=pgtrigger.compiler.Trigger(
                name="an_exclusion_stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'an exclusion never changes' USING ERRCODE = 'check_violation';",
                    hash="4f30a686d0ee49ff9824dc55cd113e91334e4a90",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_an_exclusion_stays_ae0a8",
                    table="approvals_exclusion",
                    when="BEFORE",
                ),
            ),
        ),
    ]
