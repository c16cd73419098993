

# --- added by test/jobs/site-fixture.ts

after_install = "frappe.job_tests.after_install"
before_migrate = ["frappe.job_tests.before_migrate"]
