"""Second factors of people: passkeys and authenticator apps, and proof that somebody is there now."""
