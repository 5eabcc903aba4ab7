ALTER TABLE permission_grants ADD COLUMN question TEXT;
