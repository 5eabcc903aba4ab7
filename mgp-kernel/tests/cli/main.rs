//! The program itself, as people and scripts run it.

#![cfg(unix)]

mod audit;
mod edit;
mod help;
mod home;
mod rows;
mod rules;
mod serving;
