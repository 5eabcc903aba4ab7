//! Events and their subscriptions (MGP §13.2, §13.3, §13.5).
