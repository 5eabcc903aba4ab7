//! The operator passphrase, tokens and answers of kernels that share a database of PostgreSQL. The tests are left out where
//! none is installed.

use serde_json::json;

use crate::home::{Home, Ran};
use crate::http;
use crate::kernel::{Kernel, until};
use crate::people::home_with_notes;
use crate::server::{COMMON, programs};

/// Homes whose kernels share a database, and no token of a test.
fn homes() -> Option<[Home; 2]> {
    if programs().is_none() {
        eprintln!("left out: a test over PostgreSQL, for `initdb` is not installed");
        return None;
    }
    let url = COMMON.url(&COMMON.new_database(), "");
    Some([(); 2].map(|()| {
        let home = home_with_notes(&format!("[store]\nurl = '{url}'\nkey = 'a secret'\n"));
        home.write("state/operators.json", "{}");
        home
    }))
}

/// Runs a command as somebody who has this token, and types this.
fn run(home: &Home, args: &[&str], token: &str, input: &str) -> Ran {
    let mut command = home.command(args);
    command.env("MGP_OPERATORS_TOKEN", token);
    Home::ran(command, input)
}

const SET: &[&str] = &["operators", "passphrase", "--stdin"];
const ISSUE: &[&str] = &["operators", "token", "--stdin", "--until", "1h"];
const GRANT: &[&str] = &["access", "grant", "agent.one", "notes"];

#[test]
fn a_passphrase_of_one_kernel_is_that_of_all_and_so_are_its_tokens() {
    let Some([one, other]) = homes() else { return };
    // A client comes to the other kernel before that has a passphrase of its own.
    let (_kernel, port) = Kernel::on_http(&other);
    http::ask(port, "", &json!({}), "tools/list", json!({}));
    assert_eq!(run(&other, SET, "", "correct horse\n").code, Some(3), "an agent may have sent it");
    assert_eq!(run(&one, SET, "", "correct horse\n").code, Some(0));
    let issue = || run(&other, ISSUE, "", "correct horse\n");
    until("the other kernel knows the passphrase", || issue().code == Some(0));
    let token = issue().out;
    let token = token.trim();
    assert_eq!(run(&one, GRANT, token, "").code, Some(0), "it was issued at the other kernel");
    assert_eq!(run(&other, GRANT, token, "").code, Some(0));
    assert_eq!(run(&other, SET, "", "correct horse\nanother horse\n").code, Some(0));
    assert_eq!(run(&other, GRANT, token, "").code, Some(3));
    assert_eq!(run(&one, GRANT, token, "").code, Some(3), "it is revoked everywhere");
    assert_eq!(run(&one, ISSUE, "", "correct horse\n").code, Some(3));
    assert_eq!(run(&one, ISSUE, "", "another horse\n").code, Some(0));
}

#[test]
fn of_two_answers_at_two_kernels_the_first_counts_and_the_second_operator_hears_it() {
    let Some([one, other]) = homes() else { return };
    assert_eq!(run(&one, SET, "", "correct horse\n").code, Some(0));
    let token = run(&one, ISSUE, "", "correct horse\n").out;
    let token = token.trim();
    let call = |home: &Home| run(home, &["call", "notes.remove_note", "number=1"], "", "");
    let (_first, _) = Kernel::on_http(&one);
    let (_second, _) = Kernel::on_http(&other);
    until("the question is asked", || call(&one).code == Some(6));
    let ids = || other.json(["permissions", "pending"])["questions"].as_array().unwrap().clone();
    until("the other kernel knows the question", || ids().len() == 1);
    let id = ids()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(run(&one, &["permissions", "approve", &id], token, "").code, Some(0));
    let late = run(&other, &["permissions", "deny", &id], token, "");
    assert!(late.code == Some(1) && late.err.contains("has approved this already"), "{late:?}");
}
