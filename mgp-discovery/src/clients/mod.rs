//! Files of other clients.
