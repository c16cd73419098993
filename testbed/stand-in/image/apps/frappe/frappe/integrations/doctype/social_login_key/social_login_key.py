"""TEST CODE: an identity provider: its name, what it needs, and the addresses of two that the framework knows."""

import json

import frappe
from frappe.model.document import Document

REDIRECT = "/api/method/frappe.integrations.oauth2_logins.login_via_"
DATA = json.dumps({"response_type": "code", "scope": "openid"})


class SocialLoginKey(Document):
    def autoname(self):
        self.name = frappe.scrub(self.provider_name)

    def validate(self):
        if self.provider_name == "Google":
            self.icon = "/assets/frappe/icons/social/google.svg"
        if self.custom_base_url and not self.base_url:
            frappe.throw("Please enter Base URL")
        for field, words in (("authorize_url", "Authorize URL"), ("access_token_url", "Access Token URL"), ("redirect_url", "Redirect URL")):
            if not self.get(field):
                frappe.throw(f"Please enter {words}")
        for field, words in (("client_id", "Client ID"), ("client_secret", "Client Secret")):
            if self.enable_social_login and not self.get(field):
                frappe.throw(f"Please enter {words} before social login is enabled")

    def get_social_login_provider(self, provider, initialize=False):
        keycloak = "keycloak" if frappe.VERSION >= (16, 0) else "keycloak/keycloak"
        providers = {
            "Google": {
                "provider_name": "Google", "enable_social_login": 1, "base_url": "https://www.googleapis.com", "custom_base_url": 0,
                "icon": "fa fa-google", "authorize_url": "https://accounts.google.com/o/oauth2/auth",
                "access_token_url": "https://accounts.google.com/o/oauth2/token", "redirect_url": f"{REDIRECT}google",
                "api_endpoint": "oauth2/v2/userinfo", "api_endpoint_args": None, "auth_url_data": DATA,
            },
            "Keycloak": {
                "provider_name": "Keycloak", "enable_social_login": 1, "custom_base_url": 1, "redirect_url": f"{REDIRECT}{keycloak}",
                "api_endpoint": "/protocol/openid-connect/userinfo", "api_endpoint_args": None,
                "authorize_url": "/protocol/openid-connect/auth", "access_token_url": "/protocol/openid-connect/token",
                "user_id_property": "preferred_username", "auth_url_data": DATA,
            },
        }  # fmt: skip
        return providers.get(provider) if provider else providers
