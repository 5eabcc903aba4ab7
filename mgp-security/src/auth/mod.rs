//! API keys: who a caller is, and what it may do here.
