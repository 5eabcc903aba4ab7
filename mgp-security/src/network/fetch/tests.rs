use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Answers each connection with the next of these texts, and holds it open.
async fn server(answers: Vec<String>) -> SocketAddr {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        for answer in answers {
            let (mut stream, _) = socket.accept().await.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let answer = if answer == ECHO { ok(&head) } else { answer };
            stream.write_all(answer.as_bytes()).await.unwrap();
            open.push(stream);
        }
        std::future::pending::<()>().await;
    });
    address
}

/// The answer that repeats the request's head.
const ECHO: &str = "echo";

fn fetcher() -> Fetcher {
    Fetcher::new(NetworkPolicy::default().allow_loopback()).unwrap()
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn moved(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

async fn get(fetcher: &Fetcher, url: String) -> Result<Fetched, FetchError> {
    fetcher.get(&url, &HeaderMap::new()).await
}

#[tokio::test]
async fn a_document_of_this_machine_is_fetched_where_the_policy_allows_it() {
    let at = server(vec![ok("{}")]).await;
    let fetched = get(&fetcher(), format!("http://{at}/keys")).await.unwrap();
    assert_eq!((fetched.status, &*fetched.body), (StatusCode::OK, &b"{}"[..]));
    let strict = Fetcher::new(NetworkPolicy::default()).unwrap();
    for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "[fe80::1]"] {
        let refused = get(&strict, format!("https://{host}/keys")).await.unwrap_err();
        assert!(matches!(refused, FetchError::Refused(_)), "{host}: {refused}");
    }
}

#[tokio::test]
async fn a_host_of_the_network_is_never_reached_without_tls() {
    let fetcher = answered(NetworkPolicy::default(), || vec![ELSEWHERE.into()]);
    let refused = get(&fetcher, "http://id.example.com/keys".into()).await.unwrap_err();
    assert!(matches!(refused, FetchError::NotEncrypted), "{refused}");
}

#[tokio::test]
async fn a_name_that_leads_into_a_private_network_is_refused_at_the_connection() {
    for ip in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(169, 254, 169, 254), Ipv4Addr::new(192, 168, 0, 1)] {
        let fetcher = answered(NetworkPolicy::default(), move || vec![ELSEWHERE.into(), ip.into()]);
        let refused = get(&fetcher, "https://id.example.com/keys".into()).await.unwrap_err();
        assert!(matches!(refused, FetchError::Refused(_)), "{ip}: {refused}");
    }
}

#[tokio::test]
async fn the_judged_address_is_the_one_that_is_connected_to() {
    // The second answer of the resolver would be another server.
    let at = server(vec![ok("judged")]).await;
    let asked = AtomicUsize::new(0);
    let fetcher = answered(NetworkPolicy::default().allow_loopback(), move || {
        vec![Ipv4Addr::new(127, 0, 0, if asked.fetch_add(1, Ordering::Relaxed) == 0 { 1 } else { 2 }).into()]
    });
    let answer = get(&fetcher, format!("http://localhost:{}/", at.port())).await.unwrap();
    assert_eq!(&*answer.body, b"judged");
}

#[tokio::test]
async fn redirects_are_judged_counted_and_kept_to_the_scheme() {
    let end = server(vec![ok("end")]).await;
    let at = server(vec![moved(&format!("http://{end}/end"))]).await;
    assert_eq!(&*get(&fetcher(), format!("http://{at}/")).await.unwrap().body, b"end");
    let at = server(vec![moved("http://169.254.169.254/latest")]).await;
    let refused = get(&fetcher(), format!("http://{at}/")).await.unwrap_err();
    assert!(matches!(refused, FetchError::Refused(_)), "{refused}");
    let at = server(vec![moved("https://example.com/")]).await;
    assert!(matches!(get(&fetcher(), format!("http://{at}/")).await, Err(FetchError::Redirected)));
    let at = server(vec![moved("/again"); 9]).await;
    assert!(matches!(get(&fetcher(), format!("http://{at}/")).await, Err(FetchError::Redirected)));
}

#[tokio::test]
async fn headers_stay_at_their_origin_and_posts_where_they_are() {
    let end = server(vec![ECHO.into()]).await;
    let at = server(vec![moved(&format!("http://{end}/end"))]).await;
    let headers =
        HeaderMap::from_iter([(http::header::AUTHORIZATION, HeaderValue::from_static("Basic c2Vj"))]);
    let seen = fetcher().get(&format!("http://{at}/"), &headers).await.unwrap();
    let seen = String::from_utf8_lossy(&seen.body).into_owned();
    assert!(seen.starts_with("GET /end") && !seen.contains("Basic"), "{seen}");
    let at = server(vec![moved("/elsewhere"), ok("never")]).await;
    let answer = fetcher().post_form(&format!("http://{at}/token"), &headers, "code=1").await.unwrap();
    assert_eq!(answer.status, StatusCode::FOUND);
}

#[tokio::test]
async fn answers_that_are_too_large_or_too_slow_are_given_up() {
    let at = server(vec![ok(&"x".repeat(300 << 10))]).await;
    assert!(matches!(get(&fetcher(), format!("http://{at}/")).await, Err(FetchError::TooLarge)));
    let at = server(vec!["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".into()]).await;
    let hasty = fetcher().timeout(Duration::from_millis(50));
    assert!(matches!(get(&hasty, format!("http://{at}/")).await, Err(FetchError::TooSlow)));
}

#[tokio::test]
async fn errors_repeat_no_query_and_nothing_that_was_sent() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let url = format!("http://{gone}/token?code=s3cret");
    let error = fetcher().post_form(&url, &HeaderMap::new(), "client_secret=s3cret").await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cret"));
}

#[test]
fn metadata_stand_in_front_of_the_path_and_behind_it() {
    let at = |issuer: &str| issuer_metadata_urls(issuer).unwrap();
    let expected = ["oauth-authorization-server", "openid-configuration"];
    for issuer in ["https://id.example", "https://id.example/"] {
        assert_eq!(at(issuer), expected.map(|name| format!("https://id.example/.well-known/{name}")));
    }
    assert_eq!(
        at("https://id.example:8443/team/"),
        [
            "https://id.example:8443/.well-known/oauth-authorization-server/team",
            "https://id.example:8443/.well-known/openid-configuration/team",
            "https://id.example:8443/team/.well-known/openid-configuration",
        ]
    );
    for wrong in ["", "id.example", "https://id.example?a=1", "https://id.example#a", "urn:id"] {
        assert_eq!(issuer_metadata_urls(wrong), None, "{wrong}");
    }
}

/// Returns a fetcher for which names have the addresses that `answer` returns.
fn answered(policy: NetworkPolicy, answer: impl Fn() -> Vec<IpAddr> + Send + Sync + 'static) -> Fetcher {
    let connector = GuardedConnector::answered(policy.clone(), answer);
    Fetcher { connector, ..Fetcher::new(policy).unwrap() }
}

const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);
