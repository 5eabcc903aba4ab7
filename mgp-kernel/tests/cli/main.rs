//! The program itself, as people and scripts run it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod advice;
mod alone;
mod apply;
mod asking;
mod audit;
mod background;
mod backup;
#[cfg(feature = "bundles")]
mod bundles;
#[path = "../support/certificate.rs"]
mod certificate;
mod clients;
mod conform;
mod connecting_again;
mod deciding;
mod doors;
mod doors_with_keys;
mod edit;
mod effects;
mod environment;
mod extensions;
mod files;
mod first_list;
mod following;
mod groups;
mod help;
mod hints;
#[path = "../support/home.rs"]
mod home;
#[path = "../support/http.rs"]
mod http;
mod install;
mod instances;
#[path = "../support/program.rs"]
mod kernel;
mod keys;
mod listening;
mod metrics;
mod network;
mod new_server;
mod notifications;
mod operators;
mod page;
mod page_contents;
mod parts;
mod people;
mod pushing;
mod registrations;
mod registry_keys;
mod rows;
mod rules;
mod secrets;
#[cfg(feature = "self-update")]
mod self_update;
#[cfg(all(target_os = "linux", feature = "cluster"))]
#[allow(dead_code, reason = "the tests of the store need more of it")]
#[path = "../../../mgp-store/tests/postgres/server.rs"]
mod server;
mod service;
mod service_manager;
mod serving;
#[cfg(all(target_os = "linux", feature = "cluster"))]
mod shared_operators;
#[cfg(all(target_os = "linux", feature = "cluster"))]
mod shared_record;
mod sharing;
#[path = "../support/shell_servers.rs"]
mod shell_servers;
mod specs;
mod starting;
#[cfg(feature = "cluster")]
mod store;
mod upgrade;
mod web_pages;

/// Returns the name of the user who runs the tests. The system says who that is, and no variable of the environment.
pub(crate) fn user() -> String {
    let own = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(own.stdout).unwrap().trim_end().to_owned()
}
