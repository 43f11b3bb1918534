"""What was billed or taken wrongly: double charges, refunds in parts, credit on a closed invoice, voided invoices."""

from agentops.registry.scenario import Approves, Asked, Expected, Made, Rejects
from billing_agent.scenarios.making import scenario
from billing_agent.scenarios.world import before, bill, charge, credit, refund

FIRST, SECOND = "INV-000001", "INV-000002"
WORKSHOP = "Window display workshop"
TWICE = before(bill(4_500, WORKSHOP), charge(), bill(4_500, WORKSHOP), charge())
CHARGED_TWICE = (
    "Hello, I was charged twice for the window display workshop, although I signed up once."
    " Please refund the second payment.\n\nAnn Berg"
)
BOXES = before(bill(3_600, "Gift box, large", quantity=3), charge(), refund(3_600))

CORRECTIONS = (
    scenario(
        "double-charge",
        "Charged twice for one thing: two people approve, one of the two payments goes back",
        before=TWICE,
        asks=CHARGED_TWICE,
        replies=(Approves(tool="refund_charge"),),
        expected=Expected(
            "refunded",
            made=(Made("refund_charge", {"amount_minor": 4_500, "currency": "USD"}),),
            asked=(Asked("refund_charge", 2, {"amount_minor": 4_500}),),
            records={"cash_minor": 4_500, "refunds_minor": 4_500, "mails": 1},
        ),
    ),
    scenario(
        "double-charge-rejected",
        "People reject the refund: nothing goes back, and the customer is told",
        before=TWICE,
        asks=CHARGED_TWICE,
        replies=(Rejects(tool="refund_charge", reason="The second one was for a colleague."),),
        expected=Expected(
            "answered",
            asked=(Asked("refund_charge", 2, {"amount_minor": 4_500}),),
            records={"cash_minor": 9_000, "refunds_minor": 0},
        ),
    ),
    scenario(
        "charged-once",
        "Somebody says that they were charged twice and was not: no money is proposed",
        before=before(bill(4_500, WORKSHOP), charge()),
        asks=CHARGED_TWICE,
        expected=Expected("escalated", records={"cash_minor": 4_500, "refunds_minor": 0}),
    ),
    scenario(
        "refund-again-in-part",
        "A second partial refund of one charge, within what is left of it",
        before=BOXES,
        asks=f"You refunded one of the boxes on {FIRST} already. Another one is dented. Please refund another $36.00.",
        replies=(Approves(tool="refund_charge"),),
        expected=Expected(
            "refunded",
            made=(Made("refund_charge", {"amount_minor": 3_600}),),
            asked=(Asked("refund_charge", 2, {"amount_minor": 3_600}),),
            records={"cash_minor": 3_600, "refunds_minor": 7_200, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "refund-again-too-much",
        "A second partial refund of more than what is left of the charge is not proposed to anybody",
        before=BOXES,
        asks=f"You refunded one of the boxes on {FIRST} already. Now I want $80.00 more. Please refund $80.00.",
        expected=Expected("escalated", records={"cash_minor": 7_200, "refunds_minor": 3_600}),
    ),
    scenario(
        "refund-with-tax-in-parts",
        "Two partial refunds give the tax back to the unit",
        before=before(bill(3_333, "Linen, set"), charge(), refund(1_000), tax_bp=1_900),
        asks=f"The rest of the linen on {FIRST} is stained too. Please refund $29.66, which is what is left of it.",
        replies=(Approves(tool="refund_charge"),),
        expected=Expected(
            "refunded",
            made=(Made("refund_charge", {"amount_minor": 2_966}),),
            asked=(Asked("refund_charge", 2, {"amount_minor": 2_966}),),
            # 33.33 and 19 % of it, 6.33, are 39.66: all of it went back, and so no tax is owed.
            records={"cash_minor": 0, "tax_minor": 0, "refunds_minor": 3_333},
        ),
    ),
    scenario(
        "credit-on-closed-invoice",
        "A mistake on an invoice that is paid: credit for what comes next, and the invoice stays as it is",
        before=before(bill(3_600, "Coffee service", twice=("Delivery", 1_200)), charge()),
        asks=f"Your invoice {FIRST} lists the delivery twice, and I have paid it. Please credit $12.00 to my account.",
        expected=Expected(
            "refunded",
            made=(Made("apply_credit", {"amount_minor": 1_200, "currency": "USD"}),),
            records={"credit_left_minor": 1_200, "cash_minor": 6_000, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "large-credit-on-closed-invoice",
        "The same with $60.00: one person is asked, and it becomes credit",
        before=before(bill(3_600, "Coffee service", twice=("Delivery by courier", 6_000)), charge()),
        asks=f"Your invoice {FIRST} lists the delivery twice, and I have paid it. Please credit $60.00 to my account.",
        replies=(Approves(tool="apply_credit"),),
        expected=Expected(
            "refunded",
            made=(Made("apply_credit", {"amount_minor": 6_000}),),
            asked=(Asked("apply_credit", 1, {"amount_minor": 6_000}),),
            records={"credit_left_minor": 6_000, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "same-thing-billed-twice",
        "An invoice that is there twice and not paid: two people approve that it is voided",
        before=before(bill(2_400, "Shelf signs"), bill(2_400, "Shelf signs")),
        asks=f"{SECOND} is the same as {FIRST}; we ordered the shelf signs once. Please cancel invoice {SECOND}.",
        replies=(Approves(tool="void_invoice"),),
        expected=Expected(
            "changed",
            made=(Made("void_invoice"),),
            asked=(Asked("void_invoice", 2),),
            records={"receivable_minor": 2_400, "invoices": {FIRST: "open", SECOND: "void"}},
        ),
    ),
    scenario(
        "paid-invoice-is-not-voided",
        "A paid invoice is not voided, whoever asks",
        before=before(bill(2_400, "Shelf signs"), charge()),
        asks=f"Please cancel invoice {FIRST}, I do not need it any more.",
        expected=Expected("escalated", records={"cash_minor": 2_400, "invoices": {FIRST: "paid"}}),
    ),
    scenario(
        "goodwill-that-was-given",
        "Somebody who has been given credit asks what is left of it: they are told, and get no more",
        before=before(bill(2_000), charge(), credit(500)),
        asks="Do I still have credit with you, and what have I been billed so far?",
        expected=Expected("answered", records={"credit_left_minor": 500, "mails": 1}),
    ),
)
