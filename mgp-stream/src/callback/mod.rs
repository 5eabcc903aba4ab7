//! Callbacks: what a server asks its client during a call (MGP §13.4).
