//! What all servers offer, as one list.
