app_name = "frappe"
required_apps = []
scheduler_events = {
    "all": ["frappe.core.tasks.flush"],
    "hourly_long": ["frappe.core.tasks.sweep"],
}
