"""The commands about security: QUERY SECURITY, VERIFY PASSWORD and PHRASE, SIGNON and SIGNOFF."""
