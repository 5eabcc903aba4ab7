//! Tests of questions to the person in front of a client that connects again, and of answers to other clients.

use serde_json::json;

use crate::people::{ERAS, accepted, answering, command, home_that_needs, list_notes, listing, starting};

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_counts_in_both_eras_although_it_says_not_for_how_long() {
    for order in [[ERAS[0], ERAS[1]], [ERAS[1], ERAS[0]]] {
        let home = home_that_needs("");
        let mut clients = Vec::new();
        for revision in order {
            let (builder, _) = answering(revision, &[accepted(&json!({"decision": "approve"}))]);
            let client = starting(&home, &["serve"], builder).await;
            for _ in 0..2 {
                let result = list_notes(&client).await;
                assert_ne!(result.is_error, Some(true), "{order:?} {revision:?}: {result:?}");
            }
            clients.push(client);
        }
        let listed = home.json(["permissions", "list"]);
        assert_eq!(listed["grants"].as_array().unwrap().len(), 1, "{listed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_connects_again_is_asked_again() {
    for revision in ERAS {
        let home = home_that_needs("");
        for connection in 1..=3 {
            let (builder, asked) =
                answering(revision, &[accepted(&json!({"decision": "approve", "lasts": "once"}))]);
            let client = starting(&home, &["serve"], builder).await;
            let result = list_notes(&client).await;
            assert_ne!(result.is_error, Some(true), "{revision:?}, connection {connection}: {result:?}");
            assert_eq!(asked.lock().len(), 1, "{revision:?}, connection {connection}");
            client.close().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_a_shell_of_the_first_has_started_hears_at_once_why_nobody_is_asked_there() {
    for revision in ERAS {
        let home = home_that_needs("");
        let (builder, _) = answering(revision, &[accepted(&json!({"decision": "approve", "lasts": "once"}))]);
        let first = starting(&home, &["serve"], builder).await;
        // As an agent writes it to the shell that its client gives it, and a person never does.
        let line = format!("cat | {} serve | cat", env!("CARGO_BIN_EXE_mgp"));
        let (builder, asked) = answering(revision, &[accepted(&json!({"decision": "approve"}))]);
        let started = || command(&home, "sh", &["-c", &line]).env("PATH", std::env::var_os("PATH").unwrap());
        let second = listing(builder.connect_child(started).await.unwrap().boxed()).await;
        let result = list_notes(&second).await;
        let text = result.content[0].as_text().unwrap_or_default();
        assert_eq!(result.is_error, Some(true), "{result:?}");
        assert!(text.contains("mgp permissions approve ") && text.contains("nobody is asked"), "{text}");
        assert_eq!(asked.lock().len(), 0, "{revision:?}");
        // The first client is asked as before.
        assert_ne!(list_notes(&first).await.is_error, Some(true));
    }
}
