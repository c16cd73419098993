"""TEST CODE: ERPNext's stage of the setup wizard: the first company."""

import frappe


def get_setup_stages(args=None):
    return [{"status": "Setting up company", "tasks": [{"fn": setup_company, "args": args}]}]


def setup_company(args):
    if args.company_name == "Broken Ltd":
        frappe.throw("Could not find Root Type: Asset")
    company = frappe.new_doc("Company")
    for field, value in {
        "company_name": args.company_name,
        "abbr": args.company_abbr,
        "default_currency": args.currency,
        "country": args.country,
        "chart_of_accounts": args.chart_of_accounts,
        "fiscal_year": f"{args.fy_start_date} to {args.fy_end_date}",
    }.items():
        company.set(field, value)
    company.insert()
