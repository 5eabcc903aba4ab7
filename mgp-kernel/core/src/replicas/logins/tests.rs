//! Tests of logins that kernels share over an order in memory.

use std::convert::Infallible;
use std::future::ready;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use mgp_client_sdk::Client;
use mgp_client_sdk::oauth::{ClientCredentials, Fetcher, NetworkPolicy, OAuth};
use mgp_store::testing::MemoryOrder;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::*;

/// A server that issues its own tokens: `access-2` for whatever refresh token comes.
struct Issuer {
    origin: String,
    /// The number of times that somebody looked where to ask for tokens.
    looks: watch::Sender<u32>,
    /// The number of looks before which no token is given.
    needed_looks: u32,
    /// The forms with which tokens were asked for.
    asked: Mutex<Vec<String>>,
    /// The tokens with which requests came; empty without one.
    visits: Mutex<Vec<String>>,
}

impl Issuer {
    async fn start(needed_looks: u32) -> Arc<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (looks, asked, visits) = (watch::Sender::new(0), Mutex::default(), Mutex::default());
        let issuer = Arc::new(Self { origin, looks, needed_looks, asked, visits });
        let serving = Arc::clone(&issuer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let issuer = Arc::clone(&serving);
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(move |request| {
                        let issuer = Arc::clone(&issuer);
                        async move { Ok::<_, Infallible>(issuer.answer(request).await) }
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        issuer
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut status = StatusCode::NOT_FOUND;
        match head.uri.path() {
            "/mcp" => {
                let token = head.headers.get(AUTHORIZATION).map(|token| token.to_str().unwrap());
                self.visits.lock().push(token.unwrap_or_default().to_owned());
                status = StatusCode::METHOD_NOT_ALLOWED;
            }
            "/token" => {
                self.asked.lock().push(String::from_utf8_lossy(&body).into_owned());
                self.looks.subscribe().wait_for(|looks| *looks >= self.needed_looks).await.unwrap();
                let token = json!({
                    "access_token": "access-2",
                    "refresh_token": "refresh-2",
                    "token_type": "Bearer",
                    "expires_in": 300,
                });
                return Response::new(token.to_string().into());
            }
            "/.well-known/oauth-authorization-server" => self.looks.send_modify(|looks| *looks += 1),
            _ => {}
        }
        Response::builder().status(status).body(Full::default()).unwrap()
    }

    /// Returns the key of the login that all agents share, and the login with the tokens of this number.
    fn login(&self, number: u32, ends_at: Option<i64>) -> (LoginKey, StoredLogin) {
        (LoginKey::new(format!("{}/mcp", self.origin), ""), login(&self.origin, number, ends_at))
    }

    fn oauth(&self, logins: &SharedLogins) -> Arc<OAuth> {
        let fetcher = Fetcher::new(NetworkPolicy::default().allow_loopback()).unwrap();
        let builder = OAuth::builder(&format!("{}/mcp", self.origin)).store(logins.clone());
        let builder = builder.fetcher(fetcher.timeout(Duration::from_secs(20)));
        builder.credentials(ClientCredentials::public("gate")).build().unwrap()
    }

    /// Returns the tokens with which a client comes.
    async fn visit(&self, oauth: &Arc<OAuth>) -> Vec<String> {
        let url = format!("{}/mcp", self.origin);
        let client = Client::builder("test", "1.0.0");
        // The server lets nobody in; the tokens of the requests are enough.
        let _ = client.connect_http_with(&url, |http| http.authorize_with(oauth.clone())).await;
        let mut tokens = std::mem::take(&mut *self.visits.lock());
        tokens.dedup();
        tokens
    }
}

fn login(issuer: &str, number: u32, ends_at: Option<i64>) -> StoredLogin {
    let (access, refresh) = (format!("access-{number}"), format!("refresh-{number}"));
    let token = json!({ "access_token": access, "refresh_token": refresh, "ends_at": ends_at });
    StoredLogin::from_json(&json!({ "issuer": issuer, "token": token }).to_string()).unwrap()
}

fn kernel(order: &Arc<MemoryOrder>) -> SharedLogins {
    shared(Database::in_memory().unwrap(), order)
}

fn shared(database: Database, order: &Arc<MemoryOrder>) -> SharedLogins {
    let order = Arc::clone(order);
    database.share(order, OrderKey::new("secret")).unwrap();
    SharedLogins::open(database, OrderKey::new("secret")).unwrap()
}

/// Does what a kernel does several times a second. What is out of reach is followed later.
fn follow(logins: &SharedLogins) {
    if logins.database.catch_up().unwrap_or_default().contains("logins") {
        logins.note_change();
    }
}

async fn keep_following(kernels: [&SharedLogins; 2]) {
    loop {
        kernels.into_iter().for_each(follow);
        sleep(LOOK_EVERY).await;
    }
}

/// Has two kernels follow each other while `work` goes on.
async fn followed<T>(kernels: [&SharedLogins; 2], work: impl Future<Output = T>) -> T {
    tokio::select! {
        done = work => done,
        () = keep_following(kernels) => unreachable!("they follow without end"),
    }
}

#[tokio::test]
async fn a_login_at_one_kernel_is_used_at_the_other_until_it_changes_or_ends() {
    let (order, issuer) = (Arc::default(), Issuer::start(0).await);
    let [one, other] = [(); 2].map(|()| kernel(&order));
    let oauth = issuer.oauth(&other);
    for number in [1, 3] {
        let (key, login) = issuer.login(number, None);
        one.save(&key, &login).await.unwrap();
        follow(&other);
        assert_eq!(issuer.visit(&oauth).await, [format!("Bearer access-{number}")]);
    }
    assert!(issuer.oauth(&one).logout().await.unwrap());
    follow(&other);
    assert_eq!(issuer.visit(&oauth).await, [""]);
    assert!(oauth.stored_login().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn connections_hear_of_a_login_although_whoever_signed_in_is_gone() {
    let (one, key, login) =
        (kernel(&Arc::default()), LoginKey::new("https://a.example/mcp", ""), numbered(1));
    tokio::select! {
        biased;
        _ = one.save(&key, &login) => {}
        () = ready(()) => {}
    }
    let told = async {
        while one.revision() == 0 {
            sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(LONGEST_TURN, told).await.expect("nobody heard of it");
    assert_eq!(one.load(&key).await.unwrap().unwrap().to_json(), login.to_json());
}

#[tokio::test]
async fn two_kernels_that_renew_one_login_at_once_use_the_refresh_token_once() {
    // No token is given before both kernels are about to ask for one.
    let (order, issuer) = (Arc::default(), Issuer::start(2).await);
    let [one, other] = [(); 2].map(|()| kernel(&order));
    let (key, login) = issuer.login(1, Some(1));
    one.save(&key, &login).await.unwrap();
    follow(&other);
    let (first, second) = (issuer.oauth(&one), issuer.oauth(&other));
    let visits = async { tokio::join!(issuer.visit(&first), issuer.visit(&second)) };
    let mut tokens = Box::pin(followed([&one, &other], visits)).await;
    tokens.0.append(&mut tokens.1);
    assert!(tokens.0.iter().all(|token| token == "Bearer access-2"), "{tokens:?}");
    for oauth in [first, second] {
        assert_eq!(issuer.visit(&oauth).await, ["Bearer access-2"]);
    }
    let asked = issuer.asked.lock();
    assert!(asked.len() == 1 && asked[0].contains("refresh_token=refresh-1"), "{asked:?}");
}

/// Two kernels that have one login, with the tokens of the number 1.
async fn two_with_a_login() -> ([SharedLogins; 2], LoginKey, StoredLogin) {
    let order = Arc::default();
    let kernels = [(); 2].map(|()| kernel(&order));
    let (key, before) = (LoginKey::new("https://a.example/mcp", ""), numbered(1));
    kernels[0].save(&key, &before).await.unwrap();
    follow(&kernels[1]);
    (kernels, key, before)
}

fn numbered(number: u32) -> StoredLogin {
    login("https://a.example", number, None)
}

fn to(number: u32) -> LoginFuture<'static, StoredLogin> {
    Box::pin(ready(Ok(numbered(number))))
}

fn refused() -> LoginFuture<'static, StoredLogin> {
    Box::pin(ready(Err(OAuthError::NoAnswer("nobody answers"))))
}

#[tokio::test(start_paused = true)]
async fn a_renewal_of_a_kernel_that_died_is_made_by_another_after_its_time() {
    let ([one, other], key, before) = two_with_a_login().await;
    let (tell, told) = oneshot::channel::<()>();
    let (wake, woken) = oneshot::channel::<()>();
    let (held, held_key, held_before) = (one.clone(), key.clone(), before.clone());
    let lost = tokio::spawn(async move {
        let renewal = async move {
            tell.send(()).unwrap();
            woken.await.unwrap();
            Ok::<_, OAuthError>(numbered(3))
        };
        held.renew(&held_key, &held_before, Box::pin(renewal)).await
    });
    told.await.unwrap();
    let began = Instant::now();
    let renewed = other.renew(&key, &before, to(2)).await.unwrap().unwrap();
    assert!(began.elapsed() >= LONGEST_TURN, "{:?}", began.elapsed());
    // It was not dead, and is too late.
    wake.send(()).unwrap();
    let late = lost.await.unwrap().unwrap().unwrap();
    assert_eq!([renewed.to_json(), late.to_json()], [2, 2].map(|number| numbered(number).to_json()));
}

#[tokio::test(start_paused = true)]
async fn a_kernel_that_waits_for_the_turn_of_another_leaves_the_order_and_its_connections_alone() {
    let order = Arc::<MemoryOrder>::default();
    let [one, other] = [(); 2].map(|()| kernel(&order));
    let (key, before) = (LoginKey::new("https://a.example/mcp", ""), numbered(1));
    one.save(&key, &before).await.unwrap();
    follow(&other);
    let revision = other.revision();
    let (tell, told) = oneshot::channel::<()>();
    let slow = async {
        tell.send(()).unwrap();
        sleep(LONGEST_TURN / 3).await;
        // Who asks for the turn now fails.
        order.set_away(true);
        sleep(LONGEST_TURN / 3).await;
        order.set_away(false);
        Ok::<_, OAuthError>(numbered(2))
    };
    let waiting = async {
        told.await.unwrap();
        other.renew(&key, &before, refused()).await
    };
    let both = async { tokio::join!(one.renew(&key, &before, Box::pin(slow)), waiting) };
    let (renewed, waited) = followed([&one, &other], both).await;
    for login in [renewed, waited] {
        assert_eq!(login.unwrap().unwrap().to_json(), numbered(2).to_json());
    }
    let changes = other.revision() - revision;
    assert!(changes <= 2, "of the turn and the login, and {changes} were told");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_came_to_nothing_leaves_the_turn_to_the_next() {
    let ([one, other], key, before) = two_with_a_login().await;
    assert!(matches!(one.renew(&key, &before, refused()).await, Err(OAuthError::NoAnswer(_))));
    let began = Instant::now();
    let renewed = other.renew(&key, &before, to(2)).await.unwrap().unwrap();
    assert!(began.elapsed() < LONGEST_TURN, "{:?}", began.elapsed());
    assert_eq!(renewed.to_json(), numbered(2).to_json());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_too_late_does_not_end_the_turn_of_another_kernel() {
    let ([one, other], key, before) = two_with_a_login().await;
    let (tell, told) = oneshot::channel::<()>();
    let late = async {
        tell.send(()).unwrap();
        sleep(LONGEST_TURN * 3 / 2).await;
        Err::<StoredLogin, _>(OAuthError::NoAnswer("nobody answers"))
    };
    let slow = async {
        sleep(LONGEST_TURN).await;
        Ok::<_, OAuthError>(numbered(2))
    };
    let failing = async {
        assert!(one.renew(&key, &before, Box::pin(late)).await.is_err());
        one.find(&one.database.connection(), &one.name_of(&key)).unwrap().unwrap().1
    };
    let taking_over = async {
        told.await.unwrap();
        other.renew(&key, &before, Box::pin(slow)).await
    };
    let (turn, renewed) = tokio::join!(failing, taking_over);
    assert!(turn.is_some(), "a third kernel would use the refresh token meanwhile");
    assert_eq!(renewed.unwrap().unwrap().to_json(), numbered(2).to_json());
}

#[tokio::test(start_paused = true)]
async fn a_new_refresh_token_is_kept_although_the_order_is_away_when_it_comes() {
    let order = Arc::<MemoryOrder>::default();
    let (one, key, before) = (kernel(&order), LoginKey::new("https://a.example/mcp", ""), numbered(1));
    one.save(&key, &before).await.unwrap();
    let renewal = async move {
        order.set_away(true);
        tokio::spawn(async move {
            sleep(LONGEST_TURN).await;
            order.set_away(false);
        });
        Ok::<_, OAuthError>(numbered(2))
    };
    let renewed = one.renew(&key, &before, Box::pin(renewal)).await.unwrap().unwrap();
    assert_eq!(renewed.to_json(), numbered(2).to_json());
}

#[tokio::test]
async fn a_login_that_ended_while_it_was_renewed_stays_ended() {
    let ([one, other], key, before) = two_with_a_login().await;
    let renewal = async {
        assert!(other.remove(&key).await.unwrap());
        Ok::<_, OAuthError>(numbered(2))
    };
    assert!(one.renew(&key, &before, Box::pin(renewal)).await.unwrap().is_none());
    assert!(!other.remove(&key).await.unwrap(), "it is gone");
    assert!(other.renew(&key, &before, refused()).await.unwrap().is_none(), "nobody is asked");
}

#[tokio::test]
async fn a_login_that_was_renewed_already_is_not_renewed_again() {
    let ([one, other], key, before) = two_with_a_login().await;
    one.renew(&key, &before, to(2)).await.unwrap();
    // The issuer is not asked: it would refuse.
    let renewed = other.renew(&key, &before, refused()).await.unwrap().unwrap();
    assert_eq!(renewed.to_json(), numbered(2).to_json());
}

#[tokio::test]
async fn a_login_of_a_newer_version_is_renewed_and_keeps_what_this_one_does_not_know() {
    let ([one, other], key, before) = two_with_a_login().await;
    let newer = before.to_json().replacen('{', r#"{"new":1,"#, 1);
    let stored = newer.clone();
    one.change(&key, move |row| *row = Some((stored, None))).await.unwrap();
    follow(&other);
    assert!(matches!(other.renew(&key, &before, refused()).await, Err(OAuthError::NoAnswer(_))));
    assert_eq!(other.row(&key).await.unwrap(), Some((newer, None)));
    let renewed = other.renew(&key, &before, to(2)).await.unwrap().unwrap();
    assert_eq!(renewed.to_json(), numbered(2).to_json());
}

#[tokio::test]
async fn a_login_that_cannot_be_read_tells_how_to_replace_it_and_a_logout_removes_it() {
    let (order, issuer) = (Arc::default(), Issuer::start(0).await);
    let one = kernel(&order);
    let (key, login) = issuer.login(1, None);
    one.save(&key, &login).await.unwrap();
    one.database.execute("UPDATE logins SET sealed = x'00'", &[]).unwrap();
    let error = one.load(&key).await.unwrap_err().to_string();
    assert!(error.contains("`mgp login SERVER`") && !error.contains("sealed"), "{error}");
    let oauth = issuer.oauth(&one);
    assert!(oauth.logout().await.unwrap());
    assert!(!oauth.logout().await.unwrap(), "it is gone");
}

#[tokio::test]
async fn no_token_stands_in_a_file_and_each_owner_has_a_login_of_its_own() {
    let (folder, order) = (tempfile::tempdir().unwrap(), Arc::default());
    let logins = shared(Database::open(&folder.path().join("mgp.db")).unwrap(), &order);
    let [key, other] = ["ada", "bob"].map(|owner| LoginKey::new("https://a.example/mcp", owner));
    logins.save(&key, &numbered(1)).await.unwrap();
    assert_eq!(logins.load(&key).await.unwrap().unwrap().to_json(), numbered(1).to_json());
    assert!(logins.load(&other).await.unwrap().is_none());
    for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in ["access-1", "refresh-1", "a.example"] {
            assert!(!text.contains(secret), "{secret} stands in {}", file.display());
        }
    }
}
