-- The kernel that carries out the call, or that the transaction belongs to. It is empty where no kernels share the store,
-- and at a running call of which nobody will know how it ended.
ALTER TABLE idempotent_calls ADD COLUMN kernel TEXT;
ALTER TABLE transaction_log ADD COLUMN kernel TEXT;
