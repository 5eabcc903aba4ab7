//! A server's own life: health, graceful shutdown, changes of state (MGP §11.3, §11.4).
