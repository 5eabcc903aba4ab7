//! Tests of embedding over HTTP.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Starts a server that reads requests one after the other, and answers each by a script of status and body.
async fn serve(answer: impl Fn(&str, Value) -> (u16, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            let (head, asked) = loop {
                assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0);
                let text = String::from_utf8(read.clone()).unwrap();
                if let Some((head, body)) = text.split_once("\r\n\r\n")
                    && let Ok(asked) = serde_json::from_str::<Value>(body)
                {
                    break (head.to_owned(), asked);
                }
            };
            let (status, body) = answer(&head, asked);
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    url
}

/// Returns vectors by the length of each text, in reverse order.
fn honest(asked: &Value) -> Value {
    let texts = asked["input"].as_array().unwrap().iter().enumerate().rev();
    let data: Vec<_> = texts
        .map(|(index, text)| json!({ "index": index, "embedding": [text.as_str().unwrap().len(), 1.5] }))
        .collect();
    json!({ "object": "list", "data": data, "model": "lengths-1" })
}

const NO_TOKEN: &str = "MGP_TEST_NO_SUCH_VARIABLE";

#[tokio::test]
async fn texts_are_posted_and_vectors_are_put_in_order() {
    let url = serve(|head, asked| {
        assert!(head.starts_with("POST /v1/embeddings HTTP/1.1"), "{head}");
        assert!(!head.to_lowercase().contains("authorization"), "{head}");
        assert_eq!(asked["model"], "lengths");
        (200, honest(&asked).to_string())
    });
    let embedder = HttpEmbedder::connect(&url.await, "lengths", NO_TOKEN).await.unwrap();
    assert_eq!(embedder.dimension(), 2);
    assert!(embedder.id().ends_with(":lengths:2"), "{}", embedder.id());
    let vectors = embedder.embed(vec!["a".into(), "abc".into()], Purpose::Query).await.unwrap();
    assert_eq!(vectors, [[1.0, 1.5], [3.0, 1.5]]);
}

#[tokio::test]
async fn the_token_of_the_environment_is_sent_and_never_shown() {
    // A variable that every process has stands for the token.
    let token = std::env::var("PATH").unwrap();
    let sent = token.clone();
    let url = serve(move |head, asked| {
        assert!(head.contains(&format!("Bearer {}", sent.trim())), "{head}");
        (200, honest(&asked).to_string())
    });
    let embedder = HttpEmbedder::connect(&url.await, "lengths", "PATH").await.unwrap();
    assert!(!format!("{embedder:?}").contains(&token));
}

#[tokio::test]
async fn a_service_that_answers_something_else_is_refused() {
    let one = |embedding: Value| json!({ "data": [{ "index": 0, "embedding": embedding }] });
    for (status, body, said) in [
        (401, json!({}), "401 Unauthorized"),
        (307, json!({}), "307 Temporary Redirect"),
        (200, json!("text"), "the answer of the embedding service"),
        (200, json!({ "data": [] }), "1 texts have 0 vectors"),
        (200, one(json!([])), "a vector has 0 numbers"),
        (200, one(json!([null])), "invalid type"),
        // The range of numbers depends on the build of the JSON library.
        (200, one(json!([1e300])), "not finite|out of range"),
        (200, json!({ "data": [{ "index": 1, "embedding": [1] }] }), "numbers its vectors wrongly"),
    ] {
        let url = serve(move |_, _| (status, body.to_string())).await;
        let error = HttpEmbedder::connect(&url, "m", NO_TOKEN).await.unwrap_err().to_string();
        assert!(said.split('|').any(|said| error.contains(said)), "{said}: {error}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let url = serve(|_, _| (200, " ".repeat(MOST_BYTES + 1))).await;
    let error = HttpEmbedder::connect(&url, "m", NO_TOKEN).await.unwrap_err().to_string();
    assert!(error.contains("over 16777216 bytes"), "{error}");
}

#[tokio::test]
async fn another_model_behind_the_same_name_is_refused() {
    let url = serve(|_, asked| {
        let mut answer = honest(&asked);
        answer["model"] = asked["input"][0].clone();
        (200, answer.to_string())
    });
    let embedder = HttpEmbedder::connect(&url.await, "lengths", NO_TOKEN).await.unwrap();
    let error = embedder.embed(vec!["other".into()], Purpose::Query).await.unwrap_err().to_string();
    assert!(error.contains(r#"changed from "text" to "other""#), "{error}");
}

#[test]
fn texts_are_sent_in_the_clear_to_this_machine_only() {
    for url in ["https://example.com/v1", "http://127.0.0.1:1", "http://[::1]:8080/", "http://localhost/x"] {
        assert!(endpoint(url).is_ok(), "{url}");
    }
    for url in
        ["http://example.com", "http://127.0.0.1.example.com", "ftp://x", "x", "https://u:p@example.com", ""]
    {
        assert!(endpoint(url).is_err(), "{url}");
    }
}

#[test]
fn the_path_is_completed() {
    let path = |url: &str| endpoint(url).unwrap().to_string();
    assert_eq!(path("https://h"), "https://h/v1/embeddings");
    assert_eq!(path("https://h/v1/"), "https://h/v1/embeddings");
    assert_eq!(path("https://h/x/embeddings?a=b"), "https://h/x/embeddings?a=b");
}
