//! What becomes of calls: limits of number and time, retries, circuit breakers (MGP §14.6).
