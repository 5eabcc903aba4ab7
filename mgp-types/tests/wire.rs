//! Golden frames: every message of every revision reads into its body and is written back byte by byte.
//!
//! `testdata/wire/<revision>/<method>[.<variant>].<kind>.json` holds one message; in the file name the
//! slashes of the method are dashes, and notifications go without `notifications-`. `UPDATE=1` rewrites
//! the files.

#![allow(clippy::unwrap_used, reason = "a test may panic anywhere")]

use std::fmt::Debug;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use mgp_types::mcp::task::{self, CreateTaskResult};
use mgp_types::mcp::{self, Answer, ForRevision, NotificationBody, RequestBody, task_extension};
use mgp_types::{Object, RawJson, Revision};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

// covers: MGP-1.1-01, MGP-1.5-04
#[test]
fn every_frame_is_written_back_as_it_was() {
    let mut frames = 0;
    for revision in Revision::ALL {
        for path in files(&folder().join(revision.as_str())) {
            let line = fs::read_to_string(&path).unwrap();
            let frame = Frame::new(&path, revision, &line);
            let written = format!("{}\n", frame.rewritten(RoundTrip { revision, fitted: false }));
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&path, written).unwrap();
            } else {
                assert_eq!(written, line, "{}", path.display());
            }
            frames += 1;
        }
    }
    assert!(frames > 300, "only {frames} frames were found");
}

#[test]
fn fitting_a_legal_frame_to_its_revision_changes_nothing() {
    for revision in Revision::ALL {
        for path in files(&folder().join(revision.as_str())) {
            let line = fs::read_to_string(&path).unwrap();
            let frame = Frame::new(&path, revision, &line);
            let fitted = frame.rewritten(RoundTrip { revision, fitted: true });
            assert_eq!(fitted, line.trim_end(), "{}", path.display());
        }
    }
}

#[test]
fn every_method_and_notification_has_a_frame_in_every_revision_that_defines_it() {
    let mut missing = Vec::new();
    for revision in Revision::ALL {
        let names: Vec<String> = files(&folder().join(revision.as_str()))
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let mut expect = |method: &str, kind: &str| {
            let stem = format!("{}.", method.trim_start_matches("notifications/").replace('/', "-"));
            let end = format!(".{kind}.json");
            if !names.iter().any(|name| name.starts_with(&stem) && name.ends_with(&end)) {
                missing.push(format!("{revision} {method} {kind}"));
            }
        };
        for method in methods().iter().filter(|method| method.revisions.contains(&revision)) {
            // Since 2026-07-28 the requests of a server are parts of its results.
            let embedded = ["sampling/createMessage", "elicitation/create", "roots/list"];
            if revision.is_stateless() && embedded.contains(&method.name) {
                continue;
            }
            expect(method.name, "request");
            expect(method.name, "result");
        }
        for notification in notifications().iter().filter(|known| known.revisions.contains(&revision)) {
            expect(notification.name, "notification");
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Set `MGP_SCHEMA_EXAMPLES` to a folder of the official schema's examples: one folder for each type.
#[test]
fn official_examples_keep_their_meaning() {
    let Some(examples) = std::env::var_os("MGP_SCHEMA_EXAMPLES") else {
        println!("skipped: MGP_SCHEMA_EXAMPLES is not set");
        return;
    };
    let mut checked = 0;
    for folder in files(Path::new(&examples)) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for path in files(&folder) {
            let text = fs::read_to_string(&path).unwrap();
            let example: Value = serde_json::from_str(&text).unwrap();
            let written: Value = serde_json::from_str(&rewritten_example(&name, &text)).unwrap();
            assert_eq!(written, example, "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} examples were found");
}

/// How a body is read and written back.
#[derive(Clone, Copy)]
struct RoundTrip {
    revision: Revision,
    fitted: bool,
}

type Rewrite = fn(&RawJson, RoundTrip) -> RawJson;

fn rewrite<T: Serialize + DeserializeOwned + ForRevision + PartialEq + Debug>(
    raw: &RawJson,
    how: RoundTrip,
) -> RawJson {
    let mut body: T = raw.to().unwrap_or_else(|error| panic!("{error}: {}", text(raw)));
    if how.fitted {
        body.fit(how.revision);
    }
    let written = RawJson::from_value(&body).unwrap();
    assert_eq!(written.to::<T>().unwrap(), body);
    written
}

fn text(raw: &RawJson) -> &str {
    std::str::from_utf8(raw.as_bytes()).unwrap()
}

struct Method {
    name: &'static str,
    revisions: RangeInclusive<Revision>,
    params: Rewrite,
    result: Rewrite,
}

struct Notification {
    name: &'static str,
    revisions: RangeInclusive<Revision>,
    params: Rewrite,
}

macro_rules! methods {
    ($($params:ty,)*) => {
        fn methods() -> Vec<Method> {
            vec![$(Method {
                name: <$params>::METHOD,
                revisions: <$params>::REVISIONS,
                params: rewrite::<$params>,
                result: rewrite::<Answer<<$params as RequestBody>::Result>>,
            },)*]
        }
    };
}

methods! {
    mcp::InitializeParams, mcp::PingParams, mcp::DiscoverParams, mcp::ListToolsParams, mcp::CallToolParams,
    mcp::ListResourcesParams, mcp::ListResourceTemplatesParams, mcp::ReadResourceParams,
    mcp::SubscribeParams, mcp::UnsubscribeParams, mcp::ListPromptsParams, mcp::GetPromptParams,
    mcp::CompleteParams, mcp::SetLevelParams, mcp::SubscriptionsListenParams, mcp::CreateMessageParams,
    mcp::ElicitParams, mcp::ListRootsParams, task::GetTaskParams, task::GetTaskPayloadParams,
    task::ListTasksParams, task::CancelTaskParams, task_extension::GetExtensionTaskParams,
    task_extension::UpdateTaskParams, task_extension::CancelExtensionTaskParams,
}

macro_rules! notifications {
    ($($params:ty,)*) => {
        fn notifications() -> Vec<Notification> {
            vec![$(Notification {
                name: <$params>::METHOD,
                revisions: <$params>::REVISIONS,
                params: rewrite::<$params>,
            },)*]
        }
    };
}

notifications! {
    mcp::InitializedParams, mcp::CancelledParams, mcp::ProgressParams, mcp::LoggingMessageParams,
    mcp::ToolListChangedParams, mcp::PromptListChangedParams, mcp::ResourceListChangedParams,
    mcp::ResourceUpdatedParams, mcp::RootsListChangedParams, mcp::ElicitationCompleteParams, task::Task,
    mcp::SubscriptionsAcknowledgedParams, task_extension::DetailedTask,
}

/// A message and the part of it that is a body.
struct Frame {
    object: Object,
    member: &'static str,
    rewrite: Rewrite,
}

impl Frame {
    fn new(path: &Path, revision: Revision, line: &str) -> Self {
        let object = Object::parse(line.to_owned()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let parts: Vec<&str> = name.trim_end_matches(".json").split('.').collect();
        let (stem, kind) = (parts[0], *parts.last().unwrap());
        let method = object.text("method").map(std::borrow::Cow::into_owned);
        let known = |known: &str| known.trim_start_matches("notifications/").replace('/', "-") == stem;
        let defined = |method: &Method| known(method.name) && method.revisions.contains(&revision);
        let (member, rewrite) = match kind {
            "request" => {
                let found = methods().into_iter().find(defined).expect(&name);
                assert_eq!(method.as_deref(), Some(found.name), "{name}");
                ("params", found.params)
            }
            "result" if revision == Revision::V2025_11_25 && parts[1] == "task" => {
                ("result", rewrite::<CreateTaskResult> as Rewrite)
            }
            "result" => ("result", methods().into_iter().find(defined).expect(&name).result),
            "notification" => {
                let mut all = notifications().into_iter();
                let found = all.find(|n| known(n.name) && n.revisions.contains(&revision)).expect(&name);
                assert_eq!(method.as_deref(), Some(found.name), "{name}");
                ("params", found.params)
            }
            "error" => ("error", rewrite_error as Rewrite),
            other => panic!("{name} is of no known kind: {other}"),
        };
        Self { object, member, rewrite }
    }

    fn rewritten(mut self, how: RoundTrip) -> String {
        if let Some(body) = self.object.get(self.member) {
            self.object.set(self.member, (self.rewrite)(&body, how));
        } else {
            assert_eq!(text(&(self.rewrite)(&RawJson::empty_object(), how)), "{}");
        }
        text(&self.object.to_raw()).to_owned()
    }
}

/// Reads and writes the `data` of an error.
fn rewrite_error(raw: &RawJson, how: RoundTrip) -> RawJson {
    let mut error = Object::from_raw(raw).unwrap();
    let Some(data) = error.get("data") else { return raw.clone() };
    let data = match text(&error.get("code").unwrap()) {
        "-32042" => rewrite::<mcp::UrlElicitationRequired>(&data, how),
        "-32021" => rewrite::<mcp::MissingRequiredClientCapability>(&data, how),
        "-32022" => rewrite::<mcp::UnsupportedProtocolVersion>(&data, how),
        "-32002" | "-32602" => rewrite::<mcp::ResourceNotFound>(&data, how),
        _ => data,
    };
    error.set("data", data);
    error.to_raw()
}

/// Returns the example of the type `name`, read and written back.
fn rewritten_example(name: &str, example: &str) -> String {
    let raw = RawJson::parse(example.to_owned()).unwrap();
    let object = Object::from_raw(&raw).unwrap();
    let how = RoundTrip { revision: Revision::V2026_07_28, fitted: false };
    let inner = |member: &'static str, rewrite: Rewrite| {
        Frame { object: object.clone(), member, rewrite }.rewritten(how)
    };
    if let Some(method) = object.text("method") {
        let method = method.into_owned();
        let request = methods().into_iter().find(|m| m.name == method && m.revisions.contains(&how.revision));
        let notification = notifications().into_iter().find(|n| n.name == method);
        return inner(
            "params",
            request.map_or_else(|| notification.unwrap().params, |request| request.params),
        );
    }
    if name.ends_with("Error") {
        if object.get("error").is_some() {
            return inner("error", rewrite_error);
        }
        return text(&raw).to_owned();
    }
    let name = name.strip_suffix("Response").unwrap_or(name);
    let rewrite: Rewrite = match name {
        "CallToolRequestParams" => rewrite::<mcp::CallToolParams>,
        "CallToolResult" => rewrite::<Answer<mcp::CallToolResult>>,
        "CancelledNotificationParams" => rewrite::<mcp::CancelledParams>,
        "ClientCapabilities" => rewrite::<mcp::ClientCapabilities>,
        "CompleteRequestParams" => rewrite::<mcp::CompleteParams>,
        "CompleteResult" => rewrite::<mcp::CompleteResult>,
        "CreateMessageRequestParams" => rewrite::<mcp::CreateMessageParams>,
        "CreateMessageResult" => rewrite::<mcp::CreateMessageResult>,
        "DiscoverResult" => rewrite::<mcp::DiscoverResult>,
        "ElicitRequestFormParams" | "ElicitRequestURLParams" => rewrite::<mcp::ElicitParams>,
        "ElicitResult" => rewrite::<mcp::ElicitResult>,
        "AudioContent" | "EmbeddedResource" | "ImageContent" | "ResourceLink" | "TextContent" => {
            rewrite::<mcp::ContentBlock>
        }
        "ToolResultContent" | "ToolUseContent" => rewrite::<mcp::SamplingContent>,
        "GetPromptRequestParams" => rewrite::<mcp::GetPromptParams>,
        "GetPromptResult" => rewrite::<Answer<mcp::GetPromptResult>>,
        "InputRequests" => rewrite::<mcp::InputRequests>,
        "InputRequiredResult" => rewrite::<mcp::InputRequiredResult>,
        "InputResponses" => rewrite::<mcp::InputResponses>,
        "ListPromptsResult" => rewrite::<mcp::ListPromptsResult>,
        "ListResourceTemplatesResult" => rewrite::<mcp::ListResourceTemplatesResult>,
        "ListResourcesResult" => rewrite::<mcp::ListResourcesResult>,
        "ListRootsResult" => rewrite::<mcp::ListRootsResult>,
        "ListToolsResult" => rewrite::<mcp::ListToolsResult>,
        "LoggingMessageNotificationParams" => rewrite::<mcp::LoggingMessageParams>,
        "ModelPreferences" => rewrite::<mcp::ModelPreferences>,
        "PaginatedRequestParams" => rewrite::<mcp::ListToolsParams>,
        "ProgressNotificationParams" => rewrite::<mcp::ProgressParams>,
        "ReadResourceResult" => rewrite::<Answer<mcp::ReadResourceResult>>,
        "Resource" => rewrite::<mcp::Resource>,
        "ResourceUpdatedNotificationParams" => rewrite::<mcp::ResourceUpdatedParams>,
        "BlobResourceContents" | "TextResourceContents" => rewrite::<mcp::ResourceContents>,
        "Root" => rewrite::<mcp::Root>,
        "SamplingMessage" => rewrite::<mcp::SamplingMessage>,
        "ServerCapabilities" => rewrite::<mcp::ServerCapabilities>,
        "SubscriptionsListenResult" => rewrite::<mcp::SubscriptionsListenResult>,
        "Tool" => rewrite::<mcp::Tool>,
        schema if schema.ends_with("Schema") => rewrite::<mcp::PrimitiveSchema>,
        other => panic!("no body for the example type {other}"),
    };
    if object.get("jsonrpc").is_some() {
        inner("result", rewrite)
    } else {
        text(&rewrite(&raw, how)).to_owned()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/wire")
}

/// Returns the files in the folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
