"""The pages of billing. A GET reads; taking a copy of the journal is a POST, because it goes on record."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentops.kernel.clock import utcnow
from agentops.net.streams import streamed
from agentops.tenancy.access import Reader, staff_page
from agentops.tenancy.spans import PRESETS, read_span
from billing_agent import exporting
from billing_agent.connectors.reading import customer_row
from billing_agent.pages.customer import customer_page
from billing_agent.pages.customers import customers_page
from billing_agent.pages.invoice import invoice_page
from billing_agent.pages.journal import journal_page
from billing_agent.queries import invoice_of
from billing_agent.screens import EXPORTERS, READERS


@require_safe
@never_cache
@staff_page(*READERS)
def customers(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The customers, the newest first; search and restriction stand in the address."""
    page = customers_page(reader.tenant.pk, request.GET.dict(), now=utcnow())
    may_export = bool(reader.roles & EXPORTERS)
    return render(request, "billing_agent/customers.html", {"page": page, "may_export": may_export})


@require_safe
@never_cache
@staff_page(*READERS)
def customer(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """A customer with balance and history; ``?before=`` goes on in the history."""
    row = customer_row(reader.tenant.pk, ref)
    if row is None:
        raise Http404("no such customer")
    page = customer_page(row, request.GET.dict(), now=utcnow())
    return render(request, "billing_agent/customer.html", {"page": page})


@require_safe
@never_cache
@staff_page(*READERS)
def invoice(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """An invoice, by id or number."""
    row = invoice_of(reader.tenant.pk, ref)
    if row is None:
        raise Http404("no such invoice")
    return render(request, "billing_agent/invoice.html", {"page": invoice_page(row, now=utcnow())})


@require_safe
@never_cache
@staff_page(*EXPORTERS)
def journal(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The totals of a period, and its files to be taken."""
    page = journal_page(reader.tenant, read_span(request.GET, utcnow()))
    return render(request, "billing_agent/journal.html", {"page": page, "presets": PRESETS})


@require_POST
@never_cache
@staff_page(*EXPORTERS)
def export(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Hand out one file of a period, after it is on record who takes it."""
    span = read_span(request.POST, utcnow())
    file = exporting.FILES.get(request.POST.get("file", ""))
    if span.note or file is None:
        page = journal_page(reader.tenant, span)
        return render(request, "billing_agent/journal.html", {"page": page, "presets": PRESETS}, status=422)
    period = exporting.Period.of(reader.tenant, span.first, span.last)
    exporting.note(period, file, actor=reader.actor)
    return streamed(request, file.lines(period), filename=exporting.name_of(period, file), content_type=exporting.TYPE)
