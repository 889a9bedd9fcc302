"""The answers of the JSON API: one type for each, from which FastAPI makes the schemas of the OpenAPI document.

They are typed dictionaries: a route returns plain values, and a key that is not required may be missing. Field names
are those of the JSON.
"""
