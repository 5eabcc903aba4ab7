//! The checks of a request before anything is done for it: where it comes from, and who sent it.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{AsHeaderName, COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method};
use mgp_transport::http::ConnectionAddrs;
use tokio::sync::OnceCell;

use crate::lifecycle::page_door::PageHolder;
use crate::listen::socket::operator;
use crate::peer::{Lineage, PeerUser, Process, ProcessId, peer_user};

/// The process at the other end of a connection, as far as the system tells. It is looked for once.
#[derive(Debug, Clone)]
pub(super) struct Browser {
    pub(super) ends: ConnectionAddrs,
    pub(super) known: Arc<OnceCell<(PeerUser, Option<Lineage>)>>,
}

impl Browser {
    /// Returns whether the kernel or one of its servers started the browser: nobody is taken for the person in front of it.
    pub(super) async fn descends(&self) -> bool {
        let (_, lineage) = self.known().await;
        lineage.as_ref().zip(Process::own()).is_some_and(|(lineage, own)| lineage.comes_from(own.id))
    }

    /// Returns whether the browser belongs to the user of the operator, or is on another machine, where a user may be anybody.
    pub(super) async fn may_be_of(&self, who: &PageHolder) -> bool {
        match self.known().await.0 {
            PeerUser::Known(holder) => operator(holder.user) == who.by,
            PeerUser::Unknown => self.is_elsewhere().await,
            PeerUser::Unavailable => true,
        }
    }

    /// Returns whether the browser is on another machine.
    pub(super) async fn is_elsewhere(&self) -> bool {
        let is_known = matches!(self.known().await.0, PeerUser::Known(_));
        !is_known && !self.ends.peer.ip().to_canonical().is_loopback()
    }

    pub(super) const fn address(&self) -> IpAddr {
        self.ends.peer.ip()
    }

    /// Returns the process of the browser: a cookie is worth nothing in any other one.
    pub(super) async fn process(&self) -> Option<ProcessId> {
        self.known().await.1.as_ref().map(|lineage| lineage.process().id)
    }

    async fn known(&self) -> &(PeerUser, Option<Lineage>) {
        let look = || async {
            let user = peer_user(self.ends).await;
            let PeerUser::Known(holder) = user else { return (user, None) };
            (user, tokio::task::spawn_blocking(move || holder.lineage()).await.ok().flatten())
        };
        self.known.get_or_init(look).await
    }
}

/// Returns whether a request that changes something comes from a page of this server: by the word of the browser, or else
/// by the origin that it names.
pub(super) fn is_of_this_page(head: &Parts, scheme: Scheme) -> bool {
    let site = text(&head.headers, "sec-fetch-site");
    if matches!(head.method, Method::GET | Method::HEAD) {
        // A page from elsewhere may lead here, as the identity provider does after a login, and begins none.
        return head.uri.path() != BEGIN || matches!(site, None | Some("same-origin" | "none"));
    }
    if let Some(site) = site {
        return site == "same-origin";
    }
    text(&head.headers, ORIGIN).is_some_and(|origin| origin == self::origin(head, scheme))
}

/// Returns the origin of this server, as a browser names it.
pub(super) fn origin(head: &Parts, scheme: Scheme) -> String {
    // HTTP/2 names the host in the address.
    let named = || head.uri.authority().map(Authority::as_str);
    let host = text(&head.headers, HOST).or_else(named).unwrap_or_default();
    format!("{}://{host}", scheme.as_str())
}

/// Returns the value of a cookie that a browser has.
pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|cookies| cookies.split(';'));
    cookies.find_map(|cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Returns whether a browser asks for a whole page, and not a script for a part of it.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    text(headers, "sec-fetch-mode").is_none_or(|mode| mode == "navigate")
}

fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The protocol by which the page is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Serves browsers on this machine alone.
    Http,
    /// Serves browsers on other machines, too.
    Https,
}

impl Scheme {
    pub(super) const fn as_str(self) -> &'static str {
        if matches!(self, Self::Https) { "https" } else { "http" }
    }

    /// Returns the name of the cookie with the secret of a login.
    pub(super) const fn cookie_name(self) -> &'static str {
        if matches!(self, Self::Https) { "__Host-mgp-page" } else { "mgp-page" }
    }

    /// Returns the cookie that keeps the secret of a login.
    pub(super) fn cookie(self, secret: &str) -> String {
        let secure = if self == Self::Https { "; Secure" } else { "" };
        format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie_name())
    }
}

/// The path at which a browser begins a login at the identity provider, and the one to which that sends it back.
pub(super) const BEGIN: &str = "/login/provider";
pub(super) const CALLBACK: &str = "/login/callback";
