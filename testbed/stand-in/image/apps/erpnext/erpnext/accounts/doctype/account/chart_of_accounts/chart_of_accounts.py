"""TEST CODE: the charts of accounts that ERPNext offers for a country."""


def get_charts_for_country(country, with_standard=False):
    charts = {"Germany": ["SKR03 mit Kontonummern", "SKR04 mit Kontonummern"]}.get(country, [])
    return [*charts, "Standard", "Standard with Numbers"] if with_standard or not charts else charts
