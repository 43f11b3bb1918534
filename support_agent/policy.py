"""What a fresh support agent may do, as data: autonomy settings, limits, queues and budget."""

from agentops.registry.role import Budget, GrantDefault, QueueDefault, ThresholdDefault
from agentops.registry.tool import Dial

DAILY_LIMIT = ThresholdDefault(
    fact="money.customer_day_minor",
    op=">",
    value=2500,
    currency="USD",
    effect="ask",
    words="Refunds and credits of more than $25.00 for one customer in one day need a person.",
)

GRANTS = (
    GrantDefault("lookup_customer", Dial.AUTONOMOUS),
    GrantDefault("lookup_order", Dial.AUTONOMOUS),
    GrantDefault("lookup_product", Dial.AUTONOMOUS),
    GrantDefault("list_products", Dial.AUTONOMOUS),
    GrantDefault("search_knowledge_base", Dial.AUTONOMOUS),
    GrantDefault("draft_reply", Dial.AUTONOMOUS),
    GrantDefault("send_reply", Dial.AUTONOMOUS),
    GrantDefault("update_ticket", Dial.AUTONOMOUS),
    GrantDefault("escalate_ticket", Dial.AUTONOMOUS),
    GrantDefault("issue_refund", Dial.BOUNDED, (DAILY_LIMIT,)),
    GrantDefault("issue_credit", Dial.BOUNDED, (DAILY_LIMIT,)),
    GrantDefault("cancel_pending_order", Dial.ASK),
    GrantDefault("change_order_items", Dial.ASK),
    GrantDefault("change_order_address", Dial.ASK),
    GrantDefault("change_order_payment", Dial.ASK),
    GrantDefault("change_customer_address", Dial.ASK),
    GrantDefault("return_delivered_items", Dial.ASK),
    GrantDefault("exchange_delivered_items", Dial.ASK),
    GrantDefault("recall_reply", Dial.AUTONOMOUS),
    GrantDefault("discard_draft", Dial.AUTONOMOUS),
    GrantDefault("restore_ticket_status", Dial.ASK),
    GrantDefault("stop_payout", Dial.ASK),
)

QUEUES = (
    QueueDefault("refunds", "Refunds and credits", "Money that goes back to customers."),
    QueueDefault("orders", "Orders and replies", "Changes, returns and cancellations of orders, addresses, replies."),
)

BUDGET = Budget(max_steps=20, max_seconds=900, max_cost_micro=1_000_000)
