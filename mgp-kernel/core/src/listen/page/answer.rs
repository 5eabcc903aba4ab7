//! The answers to browsers: who is let in, which page a path has, and what forms do.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use maud::{Markup, html};
use mgp_transport::http::HttpBody;
use mgp_types::mgp::CallOptions;
use mgp_types::{BoxFuture, Error, Object, RawJson};
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::form::Form;
use super::guard::{self, BEGIN, Browser, CALLBACK};
use super::layout::{Page, asset, field, json, sent_again};
use super::logins::PageLogin;
use super::reply::{failed, is_local, led_to, refused, shown};
use super::sign_in::{LOGIN, by_provider, is_of_its_person, login, unknown};
use super::{PageServer, pages};
use crate::admin::export::ExportEvents;
use crate::admin::list::OperationEntry;
use crate::admin::questions::awaited;
use crate::admin::server_orders::BegunLogin;
use crate::lifecycle::page_door::PageRole;
use crate::listen::http::Answer;
use crate::proof::NeededProof;

/// Answers a request of a browser.
pub(super) fn answer(server: Arc<PageServer>, request: Request<Incoming>) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let (head, body) = request.into_parts();
        let mut response = admitted(&server, &head, body).await;
        let headers = response.headers_mut();
        for (name, value) in HEADERS.lines().filter_map(|line| line.split_once(": ")) {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        Ok(response)
    })
}

/// Answers a request that may come from where it comes from.
async fn admitted(server: &Arc<PageServer>, head: &Parts, body: Incoming) -> Response<HttpBody> {
    let path = head.uri.path();
    if !server.http.answers_beside(&head.headers, &head.uri) {
        return refused("this `Host` or `Origin` is not served");
    }
    // Logins too: else another page could have a form of its own kept over one.
    if !guard::is_of_this_page(head, server.scheme) {
        return refused("this was not sent by a page of this kernel");
    }
    if let Some(asset) = asset(path) {
        return asset;
    }
    let Some(browser) = head.extensions.get::<Browser>() else {
        return refused("this connection is not known");
    };
    if browser.descends().await {
        tracing::warn!("a browser that the kernel or one of its servers started was refused at the page");
        return refused(
            "this browser was started by the kernel or by one of its servers, and nothing that comes from there decides: a \
             person has to do that in a browser of their own",
        );
    }
    if path == LOGIN {
        return login(server, head, browser, body).await;
    }
    if matches!(path, BEGIN | CALLBACK) && head.method == Method::GET && guard::is_navigation(&head.headers) {
        return by_provider(server, head, browser).await;
    }
    let secret = guard::cookie(&head.headers, server.scheme.cookie_name());
    let login = match secret {
        Some(secret) => server.logins.find(secret).await,
        None => None,
    };
    let login = match login {
        Some(login) if is_of_its_person(server, &login, browser).await => login,
        _ => return unknown(server, head, body).await,
    };
    let is_auditor = login.client.holder.role == PageRole::Auditor;
    let query = Form::parse(head.uri.query().unwrap_or_default().as_bytes());
    match (&head.method, path) {
        (&Method::GET, "/live") => changes(server, login),
        (&Method::GET, "/record/export") => {
            file(Arc::clone(&login), &query).unwrap_or_else(|error| failed(&login, &error, "/record"))
        }
        (&Method::POST, "/sign-out") => {
            server.logins.sign_out(secret.unwrap_or_default()).await;
            led_to(LOGIN)
        }
        (&Method::POST, _) if is_auditor => refused("an auditor sees everything and changes nothing"),
        (&Method::POST, _) if path.starts_with("/do/") => match (Form::read(body).await, &path[4..]) {
            (Ok(form), "call") => called(&login, &form).await,
            (Ok(form), operation) => done(&login, operation, form).await,
            (Err(error), _) => failed(&login, &error, "/"),
        },
        (&Method::GET, _) => {
            let decoded = |segment| Some(percent_decode_str(segment).decode_utf8().ok()?.into_owned());
            let segments: Option<Vec<String>> = path.split('/').skip(1).map(decoded).collect();
            let (segments, here) = (segments.unwrap_or_default(), section(path));
            match pages::page(&login.client, &segments, &query).await {
                Ok(page) => shown(StatusCode::OK, &page, here, Some(&login)),
                Err(error) => failed(&login, &error, here),
            }
        }
        _ => refused("there is nothing to do here"),
    }
}

/// Returns the path of the section that a page belongs to.
fn section(path: &str) -> &str {
    let end = path.char_indices().filter(|(_, letter)| *letter == '/').nth(1);
    end.map_or(path, |(end, _)| &path[..end])
}

/// Does the operation of a form, and leads back to where the form stood.
async fn done(login: &PageLogin, operation: &str, form: Form) -> Response<HttpBody> {
    let (form, passphrase) = form.without("_passphrase");
    let back = form.get("_back").filter(|back| is_local(back)).unwrap_or("/").to_owned();
    // Rules of access are changed by methods of MGP.
    let is_access = operation.starts_with("access/");
    let method = format!("{}/{operation}", if is_access { "mgp" } else { "kernel" });
    if !is_access && OperationEntry::named(&method).is_none() {
        return failed(login, &Error::method_not_found(&method.as_str().into()), &back);
    }
    let outcome = async {
        // Left out, it would mean something else.
        if let Some(needed) = form.get("_needs").filter(|needed| form.get(needed).is_none()) {
            return Err(Error::invalid_params(format!("nothing was done: `{needed}` is empty")));
        }
        if let Some(passphrase) = passphrase {
            login.client.prove(passphrase).await?;
        }
        let mut reply = RawJson::null();
        let each = form.each();
        for (done, one) in each.iter().enumerate() {
            let mut params = one.params()?;
            if is_access {
                let reach = if params.contains("tool_name") { "tool_grant" } else { "server_grant" };
                params.set("entry_type", RawJson::from_text(reach));
            }
            let sent = login.client.send(&method, params).await;
            reply = match sent {
                Err(error) if done > 0 => {
                    let before = format!("{done} of {} were done, and then one was not", each.len());
                    return Err(Error::new(error.code(), before).with_source(error));
                }
                sent => sent?,
            };
        }
        Ok(reply)
    };
    let show = |page: &Page| shown(StatusCode::OK, page, section(&back), Some(login));
    match outcome.await {
        Ok(reply) if form.get("_show").is_some() => {
            let body = html! {
                p { "Shown only this once:" }
                pre { (reply.to_string()) }
                a href=(back) { "Back" }
            };
            show(&Page::new("Done", body))
        }
        Ok(reply) if operation == "server/login" => match reply.to::<BegunLogin>() {
            Ok(BegunLogin { page }) => {
                let body = html! {
                    p { "Sign in there, in a browser on the kernel's machine; the server is connected to anew then." }
                    p { a href=(page) target="_blank" rel="noopener noreferrer" { (page) } }
                    a href=(back) { "Back" }
                };
                show(&Page::new("Sign in at the server's issuer", body))
            }
            Err(error) => failed(login, &Error::internal(error.to_string()), &back),
        },
        Ok(_) => led_to(&back),
        Err(error) => match NeededProof::of(&error) {
            Some(needed) if needed.is_secret() => show(&proof_page(operation, &form, needed, &error)),
            _ => failed(login, &error, &back),
        },
    }
}

/// Calls a tool with the arguments of a form, and shows the result, or the question that it waits for.
async fn called(login: &PageLogin, form: &Form) -> Response<HttpBody> {
    let back = form.get("_back").filter(|back| is_local(back)).unwrap_or("/tools");
    let outcome = async {
        let mut params = Object::new();
        params.set("name", RawJson::from_text(form.get("name").unwrap_or_default()));
        params.set("arguments", form.params_below("arguments.")?.to_raw());
        // The person at this page decides, so the call need not wait for anybody else.
        let mut wishes = CallOptions::default();
        wishes.approval_wait_ms = Some(0);
        wishes.write(&mut params);
        login.client.call(params).await
    };
    let body = match outcome.await {
        Ok(result) => html! { (json(&result)) a href=(back) { "Back" } },
        Err(error) => match awaited(&error) {
            Some(id) => html! {
                p.notice role="status" { "The call waits for " a href={ "/questions/" (id) } target="_blank" rel="noopener" { "your answer" } "." }
                (sent_again("/do/call", form, &Markup::default(), "Call it again", back))
            },
            None => return failed(login, &error, back),
        },
    };
    shown(StatusCode::OK, &Page::new(form.get("name").unwrap_or("Call"), body), section(back), Some(login))
}

/// Returns the page that asks for the passphrase; the form goes with it.
fn proof_page(operation: &str, form: &Form, needed: NeededProof, why: &Error) -> Page {
    let is_account = needed == NeededProof::Account;
    let what = if is_account { "Password of your account" } else { "Operator passphrase" };
    let passphrase = html! {
        input type="password" name="_passphrase" autocomplete="off" required autofocus;
    };
    let back = form.get("_back").filter(|back| is_local(back)).unwrap_or("/");
    let body = html! {
        p { (if is_account { "This needs the password of your account." } else { "This needs your operator passphrase." })
            " It counts for ten minutes." }
        p.notice role="status" { (why.message()) }
        (sent_again(&format!("/do/{operation}"), form, &field(what, &passphrase), "Go on", back))
    };
    Page::new("Operator passphrase", body)
}

/// The headers of all answers: nothing of another origin is loaded, framed, sent or read, and no text becomes script.
const HEADERS: &str = include_str!("headers.txt");

/// Returns a stream with an event whenever the questions or the record change, which tells of servers, too. It ends with the kernel, and holds a
/// kernel that ends by itself as long as the page is open.
pub(super) fn changes(server: &Arc<PageServer>, login: Arc<PageLogin>) -> Response<HttpBody> {
    let (events, body) = mpsc::channel(1);
    let sections = server.kernel.sections().clone();
    let mut stopped = server.stopped.clone();
    tokio::spawn(async move {
        let Some(_open) = sections.lifecycle.connections.command() else { return };
        let mut asked = sections.policies.pending.asked();
        let mut last = None;
        while login.holds() {
            // A page shows something else once one of these differs.
            let now = (sections.audit.log.head().seq, sections.policies.pending.list().len());
            let event = if last == Some(now) { &b":\n\n"[..] } else { b"data: changed\n\n" };
            last = Some(now);
            if events.send(Bytes::from_static(event)).await.is_err() {
                return;
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                _ = asked.changed() => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
        }
    });
    Response::builder().header(CONTENT_TYPE, "text/event-stream").body(body.into()).unwrap_or_default()
}

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Returns the events that fit the filter of `query` as lines of JSON, the oldest first. They are read as fast as the browser takes
/// them. A file that lacks events ends with a line that says so.
///
/// # Errors
/// The filter is malformed.
pub(super) fn file(login: Arc<PageLogin>, query: &Form) -> Result<Response<HttpBody>, Error> {
    let mut wanted: ExportEvents = query.clone().without("behind:json").0.to()?;
    let (pieces, body) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut is_whole = true;
        while login.holds() {
            let Ok(page) = login.client.ask(&wanted).await else { break };
            is_whole &= page.only_here.is_none();
            if pieces.send(Bytes::from(page.text)).await.is_err() {
                return;
            }
            match page.next_behind {
                Some(behind) => wanted.behind = behind,
                None if is_whole => return,
                None => break,
            }
        }
        let _ = pieces.send(Bytes::from_static(UNFINISHED)).await;
    });
    let answer = Response::builder()
        .header(CONTENT_TYPE, "application/x-ndjson")
        .header(CONTENT_DISPOSITION, "attachment; filename=\"record.jsonl\"");
    Ok(answer.body(body.into()).unwrap_or_default())
}

/// The line at the end of a file that lacks the rest.
const UNFINISHED: &[u8] = b"{\"unfinished\":\"the rest of the record could not be read\"}\n";
