//! A right server and a right client pass every rule, and each of their defects is caught by its rule and no other.
//! This program is the subject, too.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says so")]

#[path = "subjects/mod.rs"]
mod subjects;

use std::collections::BTreeSet;
use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use mgp_conform::{
    ClientSubject, Report, Role, RunOptions, ServerSubject, Status, Suite, Transport, check_client,
    check_server,
};

use self::subjects::client::RightClient;
use self::subjects::{client_defects, defects, http, serve_stdio};

const SERVE: &str = "subject-server";
const CONNECT: &str = "subject-client";
const RIGHT: &str = "none";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).cloned();
    let defect = argument(1).unwrap_or_default();
    match argument(0).as_deref() {
        Some(SERVE) => serve_stdio(&defect),
        Some(CONNECT) => in_runtime(async move { RightClient::new(argument(2), &defect).run().await }),
        _ => return libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
    ExitCode::SUCCESS
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: String, test: fn(&'static str, Role, Transport), defect, role, transport| {
        let run = move || -> Result<(), Failed> {
            test(defect, role, transport);
            Ok(())
        };
        trials.push(Trial::test(name, run));
    };
    for (role, transport, wrong) in [
        (Role::Server, Transport::Stdio, defects::STDIO),
        (Role::Server, Transport::Http, defects::HTTP),
        (Role::Client, Transport::Stdio, client_defects::STDIO),
        (Role::Client, Transport::Http, client_defects::HTTP),
    ] {
        let subject = format!("{role:?} over {transport:?}").to_lowercase();
        add(format!("the right {subject} keeps every rule"), keeps_every_rule, RIGHT, role, transport);
        for defect in wrong {
            add(
                format!("{subject} {defect} is caught by its rule and no other"),
                is_caught,
                defect,
                role,
                transport,
            );
        }
    }
    trials.push(Trial::test("every rule has a wrong subject", || {
        every_rule_has_a_wrong_subject();
        Ok(())
    }));
    trials
}

fn keeps_every_rule(defect: &'static str, role: Role, transport: Transport) {
    let report = report(defect, role, transport);
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    assert!(report.is_passing());
}

fn is_caught(defect: &'static str, role: Role, transport: Transport) {
    let report = report(defect, role, transport);
    assert_eq!(broken(&report), [defect], "{:#?}", messages(&report));
}

fn every_rule_has_a_wrong_subject() {
    let rules: BTreeSet<_> = Suite::built_in().tests.into_iter().map(|test| test.test_id).collect();
    let wrong = [defects::STDIO, defects::HTTP, client_defects::STDIO, client_defects::HTTP].concat();
    assert_eq!(wrong.into_iter().map(ToOwned::to_owned).collect::<BTreeSet<_>>(), rules);
}

fn broken(report: &Report) -> Vec<&str> {
    let is_broken = |status| matches!(status, Status::Failed | Status::Error);
    report
        .results
        .iter()
        .filter(|result| is_broken(result.status))
        .map(|result| result.test_id.as_str())
        .collect()
}

fn messages(report: &Report) -> Vec<(&str, &str)> {
    let failed = report.results.iter().filter(|result| result.status != Status::Passed);
    failed.map(|result| (result.test_id.as_str(), result.message.as_deref().unwrap_or_default())).collect()
}

/// Tests a subject with a defect.
fn report(defect: &'static str, role: Role, transport: Transport) -> Report {
    let program = std::env::current_exe().unwrap().display().to_string();
    let suite = Suite::built_in();
    // Long enough for a machine that does much else; only a defect that says nothing takes it.
    let options = RunOptions { patience: Duration::from_secs(30), ..RunOptions::default() };
    let command = |word: &str| vec![program.clone(), word.to_owned(), defect.to_owned()];
    in_runtime(async {
        match (role, transport) {
            (Role::Server, Transport::Stdio) => {
                check_server(&suite, &ServerSubject::Command(command(SERVE)), &options).await
            }
            (Role::Server, Transport::Http) => {
                check_server(&suite, &ServerSubject::Url(http::serve(defect).await), &options).await
            }
            (Role::Client, transport) => {
                check_client(&suite, &ClientSubject { command: command(CONNECT), transport }, &options).await
            }
        }
    })
}

fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
