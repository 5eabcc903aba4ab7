//! Rate limits: how often a principal, a tool and a server may be called.
