//! The answers to browsers: who is let in, which page a path has, and what forms do.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use maud::{Markup, html};
use mgp_transport::http::HttpBody;
use mgp_types::mgp::CallOptions;
use mgp_types::{Error, Object, Principal, RawJson, code};
use percent_encoding::percent_decode_str;

use super::form::Form;
use super::guard::{self, Browser, Scheme};
use super::layout::{Page, document, field};
use super::logins::PageLogin;
use super::page_client::PageClient;
use super::{PageServer, assets, export, live, pages};
use crate::admin::list::OperationEntry;
use crate::admin::questions::{OpenQuestion, ShowQuestion, awaited};
use crate::admin::server_login::BegunLogin;
use crate::lifecycle::page_door::{PageHolder, PageRole};
use crate::listen::http::uncached;
use crate::proof::NeededProof;
use crate::terminal::with_causes;

/// Answers a request of a browser.
pub(super) async fn answer(server: Arc<PageServer>, request: Request<Incoming>) -> Response<HttpBody> {
    let (head, body) = request.into_parts();
    let mut response = admitted(&server, &head, body).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
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
    if let Some(asset) = assets::at(path) {
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
    let secret = guard::secret(&head.headers, server.scheme);
    let login = match secret.and_then(|secret| server.logins.find(secret)) {
        Some(login)
            if login.process == browser.process().await && browser.may_be_of(login.client.holder()).await =>
        {
            login
        }
        _ => return unknown(server, head, body).await,
    };
    let is_auditor = login.client.holder().role == PageRole::Auditor;
    let query = Form::parse(head.uri.query().unwrap_or_default().as_bytes());
    match (&head.method, path) {
        (&Method::GET, "/live") => live::stream(server, login),
        (&Method::GET, "/record/export") => {
            export::file(Arc::clone(&login), &query).unwrap_or_else(|error| failed(&login, &error, "/record"))
        }
        (&Method::POST, "/sign-out") => {
            server.logins.sign_out(secret.unwrap_or_default());
            led_to(LOGIN)
        }
        (&Method::POST, _) if is_auditor => refused("an auditor sees everything and changes nothing"),
        (&Method::POST, _) if let Some(operation) = path.strip_prefix("/do/") => match Form::read(body).await
        {
            Ok(form) if operation == "call" => called(&login, &form).await,
            Ok(form) => done(&login, operation, form).await,
            Err(error) => failed(&login, &error, "/"),
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
    match path.char_indices().filter(|(_, letter)| *letter == '/').nth(1) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

/// Signs a browser in, or asks for the code.
async fn login(server: &PageServer, head: &Parts, browser: &Browser, body: Incoming) -> Response<HttpBody> {
    if head.method != Method::POST {
        let query = Form::parse(head.uri.query().unwrap_or_default().as_bytes());
        return shown(StatusCode::OK, &login_page(server, query.get("_to"), None, ""), LOGIN, None);
    }
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(error) => return refused(error.message()),
    };
    let (to, kept) = (form.get("_to").map(str::to_owned), form.get("_form").map(str::to_owned));
    let client = match form.get("passphrase") {
        Some(passphrase) => by_passphrase(server, browser, passphrase).await,
        None => by_code(server, browser, form.get("code").unwrap_or_default()).await,
    };
    let process = browser.process().await;
    let Some(secret) = client.and_then(|client| server.logins.sign_in(client, process)) else {
        let wrong = "This does not hold, or not any more. `mgp ui` shows a new code.";
        let page = login_page(server, to.as_deref(), kept.as_deref(), wrong);
        return shown(StatusCode::FORBIDDEN, &page, LOGIN, None);
    };
    let cookie = server.scheme.cookie(&secret);
    let to = to.as_deref().filter(|to| is_local(to)).unwrap_or("/");
    let mut response = match kept {
        None => led_to(to),
        Some(kept) => {
            let kept = Form::parse(kept.as_bytes());
            let body = html! {
                p { "You are signed in. What you sent before was not done yet." }
                form method="post" action=(to) {
                    @for (name, value) in kept.fields() { input type="hidden" name=(name) value=(value); }
                    button.primary { "Send it now" }
                    a href="/" { "Leave it" }
                }
            };
            shown(StatusCode::OK, &Page::new("Signed in", body), LOGIN, None)
        }
    };
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Returns the client of the person who was given this code.
async fn by_code(server: &PageServer, browser: &Browser, code: &str) -> Option<PageClient> {
    let mut holder = server.kernel.sections().lifecycle.page.redeem(code)?;
    if browser.is_elsewhere().await && holder.role == PageRole::Account {
        holder.role = PageRole::Member;
    }
    browser.may_be_of(&holder).await.then(|| PageClient::new(server.kernel.clone(), holder))
}

/// Returns the client of a person on another machine who knows the operators' passphrase.
async fn by_passphrase(server: &PageServer, browser: &Browser, passphrase: &str) -> Option<PageClient> {
    let _place = server.guesses.try_acquire().ok()?;
    if !browser.is_elsewhere().await {
        return None;
    }
    let by = Principal::operator(format!("browser at {}", browser.address()));
    let client = PageClient::new(server.kernel.clone(), PageHolder { by, role: PageRole::Member });
    client.prove(passphrase.to_owned()).await.ok().map(|()| client)
}

fn login_page(server: &PageServer, to: Option<&str>, kept: Option<&str>, wrong: &str) -> Page {
    let code = html! {
        input name="code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"
            placeholder="K7QF-9M2X" required autofocus;
    };
    let passphrase = html! { input type="password" name="passphrase" autocomplete="off" required; };
    let form = |label: &str, input: &Markup| {
        html! {
            form method="post" action=(LOGIN) {
                @if let Some(to) = to { input type="hidden" name="_to" value=(to); }
                @if let Some(kept) = kept { input type="hidden" name="_form" value=(kept); }
                (field(label, input))
                button.primary { "Sign in" }
            }
        }
    };
    let body = html! {
        p { "Run " code { "mgp ui" } " in a terminal, and type the code that it shows." }
        @if !wrong.is_empty() { p.notice.bad role="alert" { (wrong) } }
        (form("Code", &code))
        @if server.scheme == Scheme::Https { (form("Operators' passphrase", &passphrase)) }
    };
    Page::new("Sign in", body)
}

/// Returns the answer to a browser that is not signed in. What a form brought is kept until it is.
async fn unknown(server: &PageServer, head: &Parts, body: Incoming) -> Response<HttpBody> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    if head.method == Method::POST && guard::is_navigation(&head.headers) {
        let kept = Form::read(body).await.unwrap_or_default().without("_passphrase").0.to_query();
        let why = "Your login ended. Sign in again; what you sent is kept.";
        return shown(
            StatusCode::UNAUTHORIZED,
            &login_page(server, Some(path), Some(&kept), why),
            LOGIN,
            None,
        );
    }
    if head.method == Method::GET && guard::is_navigation(&head.headers) {
        let to = if path == "/" {
            LOGIN.to_owned()
        } else {
            format!("{LOGIN}?_to={}", super::layout::segment(path))
        };
        return led_to(&to);
    }
    plain(StatusCode::UNAUTHORIZED, "sign in first")
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
            if DECISIONS.contains(&operation) {
                undecided(login, &params).await?;
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
    match outcome.await {
        Ok(reply) if form.get("_show").is_some() => {
            let body = html! {
                p { "Shown only this once:" }
                pre { (reply.to_string()) }
                a href=(back) { "Back" }
            };
            shown(StatusCode::OK, &Page::new("Done", body), section(&back), Some(login))
        }
        Ok(reply) if operation == "server/login" => match reply.to::<BegunLogin>() {
            Ok(BegunLogin { page }) => {
                let body = html! {
                    p { "Sign in there, in a browser on the kernel's machine; the server is connected to anew then." }
                    p { a href=(page) target="_blank" rel="noopener noreferrer" { (page) } }
                    a href=(back) { "Back" }
                };
                shown(
                    StatusCode::OK,
                    &Page::new("Sign in at the server's issuer", body),
                    section(&back),
                    Some(login),
                )
            }
            Err(error) => failed(login, &Error::internal(error.to_string()), &back),
        },
        Ok(_) => led_to(&back),
        Err(error) => match NeededProof::of(&error) {
            Some(needed) if needed.is_secret() => {
                let page = proof_page(operation, &form, needed, &error);
                shown(StatusCode::OK, &page, section(&back), Some(login))
            }
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
        Ok(result) => html! { (super::layout::json(&result)) a href=(back) { "Back" } },
        Err(error) => match awaited(&error) {
            Some(id) => html! {
                p.notice role="status" { "The call waits for " a href={ "/questions/" (id) } target="_blank" rel="noopener" { "your answer" } "." }
                form method="post" action="/do/call" {
                    @for (name, value) in form.fields() { input type="hidden" name=(name) value=(value); }
                    button.primary { "Call it again" }
                    a href=(back) { "Leave it" }
                }
            },
            None => return failed(login, &error, back),
        },
    };
    shown(StatusCode::OK, &Page::new(form.get("name").unwrap_or("Call"), body), section(back), Some(login))
}

/// The operations that answer a question.
const DECISIONS: [&str; 2] = ["permissions/approve", "permissions/deny"];

/// Checks that nobody has answered a question yet: an answer of one page is not overwritten from another.
async fn undecided(login: &PageLogin, params: &Object) -> Result<(), Error> {
    let id = params.text("id").unwrap_or_default().into_owned();
    let OpenQuestion { decision, answered_by, .. } = login.client.ask(&ShowQuestion { id }).await?.question;
    let Some(decision) = decision else { return Ok(()) };
    let by = answered_by.unwrap_or_else(|| "an operator".to_owned());
    Err(Error::invalid_request(format!("nothing was changed: {by} has {} this already", decision.as_str())))
}

/// Returns the page that asks for the proof which an operation takes; the form goes with it.
fn proof_page(operation: &str, form: &Form, needed: NeededProof, why: &Error) -> Page {
    let what = match needed {
        NeededProof::Account => "Password of your account",
        _ => "Operators' passphrase",
    };
    let passphrase = html! {
        input type="password" name="_passphrase" autocomplete="off" required autofocus;
    };
    let body = html! {
        p { "Deciding takes a proof that a person is there; it holds for ten minutes." }
        p.notice role="status" { (why.message()) }
        form method="post" action={ "/do/" (operation) } {
            @for (name, value) in form.fields() { input type="hidden" name=(name) value=(value); }
            (field(what, &passphrase))
            button.primary { "Go on" }
            a href=(form.get("_back").filter(|back| is_local(back)).unwrap_or("/")) { "Leave it" }
        }
    };
    Page::new("A proof is needed", body)
}

/// Returns whether an address leads to a page of this kernel.
fn is_local(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    address.starts_with('/') && !address.starts_with("//") && address.bytes().all(is_plain)
}

fn failed(login: &PageLogin, error: &Error, here: &str) -> Response<HttpBody> {
    let status = match error.code() {
        code::RESOURCE_NOT_FOUND | code::TOOL_NOT_FOUND | code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::PERMISSION_DENIED | code::ACCESS_DENIED => StatusCode::FORBIDDEN,
        code::INVALID_PARAMS | code::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ => StatusCode::CONFLICT,
    };
    let body = html! {
        p.notice.bad role="alert" { (super::layout::visible(&with_causes(error.message(), error))) }
        a href=(here) { "Back" }
    };
    shown(status, &Page::new("That was not done", body), here, Some(login))
}

fn shown(status: StatusCode, page: &Page, here: &str, login: Option<&PageLogin>) -> Response<HttpBody> {
    let document = document(page, here, login.map(|login| login.client.holder())).into_string();
    uncached(status, "text/html; charset=utf-8", document)
}

fn led_to(path: &str) -> Response<HttpBody> {
    let answer = Response::builder().status(StatusCode::SEE_OTHER).header(LOCATION, path);
    answer.body(HttpBody::default()).unwrap_or_default()
}

fn refused(why: &str) -> Response<HttpBody> {
    plain(StatusCode::FORBIDDEN, why)
}

fn plain(status: StatusCode, text: &str) -> Response<HttpBody> {
    uncached(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// The path at which browsers sign in.
const LOGIN: &str = "/login";

/// The headers of all answers: nothing of another origin is loaded, framed, sent or read, and no text becomes script.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types mgp",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];
