//! The client against peers that are written line by line, in both eras.

mod cache;
mod calls;
mod handlers;
mod inputs;
mod pages;
mod peer;
mod subscriptions;
mod tasks;
mod timeouts;
