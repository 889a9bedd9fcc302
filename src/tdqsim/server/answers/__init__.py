"""The types of the answers of the JSON API, from which FastAPI makes the schemas of the OpenAPI document.

They are typed dictionaries: a route returns plain values, and keys that are not required may be missing. Keys are the
field names of the JSON.
"""
