//! What only reads: annotations, verbs, SQL and HTTP methods.
