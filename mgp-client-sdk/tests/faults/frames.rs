//! The frames of the scripted server, written by hand.

use mgp_types::Revision;
use serde_json::{Value, json};

use crate::turn::{ChunkFault, Garbage};

/// Returns a message as a line.
pub(crate) fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

pub(crate) fn result(id: &Value, result: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub(crate) fn note(method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// Returns the result of a call: its own number, and that of the answer.
pub(crate) fn echo(nonce: u64, serial: usize) -> Value {
    let text = format!("{nonce}:{serial}");
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

/// Returns the answer of a server of `era` to a request of the handshake.
pub(crate) fn handshake(era: Revision, id: &Value, method: &str) -> Vec<u8> {
    handshake_with(&[], era, id, method)
}

/// Answers the handshake of a server that speaks MGP with these extensions, if there are any.
pub(crate) fn handshake_with(extensions: &[&str], era: Revision, id: &Value, method: &str) -> Vec<u8> {
    let mut capabilities = json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true}, "prompts": {},
    });
    if !extensions.is_empty() {
        capabilities["extensions"] = mgp(extensions);
    }
    match (method, era.is_stateless()) {
        ("server/discover", true) => result(
            id,
            &json!({
                "resultType": "complete", "supportedVersions": [era.as_str()], "capabilities": capabilities,
            }),
        ),
        ("initialize", false) => result(
            id,
            &json!({
                "protocolVersion": era.as_str(), "capabilities": capabilities,
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
        ),
        _ => line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})),
    }
}

/// Returns the declaration of a peer that speaks MGP among the extensions of MCP.
pub(crate) fn mgp(extensions: &[&str]) -> Value {
    json!({"dev.cloto/mgp": {"version": "0.2.0", "extensions": extensions}})
}

pub(crate) fn error(id: &Value, code: i64) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}))
}

pub(crate) fn acknowledged(id: &Value, params: &Value) -> Vec<u8> {
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    note(
        "notifications/subscriptions/acknowledged",
        &json!({"notifications": params["notifications"], "_meta": meta}),
    )
}

/// An error whose code is a registered one of MGP, so that its data are looked at.
pub(crate) const REFUSAL: i64 = 1003;

pub(crate) fn refusal(id: &Value, data: Option<&str>) -> Vec<u8> {
    let mut error = json!({"code": REFUSAL, "message": "no"});
    if let Some(data) = data {
        error["data"] = serde_json::from_str(data).unwrap();
    }
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

pub(crate) fn wrong(id: &Value, shape: &str) -> Vec<u8> {
    let mut answer: Value = serde_json::from_str(shape).unwrap();
    answer["id"] = id.clone();
    line(&answer)
}

pub(crate) fn garbage(garbage: Garbage, max_frame_bytes: usize) -> Vec<u8> {
    match garbage {
        Garbage::NotJson => b"Listening on port 3000 ...\n{'a': 1}\n".to_vec(),
        Garbage::NotText => b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\xc0\x80\"}\n\xff\n".to_vec(),
        Garbage::Nul => b"\0\0\0\n{\"jsonrpc\":\"2.0\",\0\"id\":1}\n".to_vec(),
        Garbage::Blank => b"\n\r\n \n\n\t\n".to_vec(),
        Garbage::TooLong => [vec![b'x'; max_frame_bytes + max_frame_bytes / 2], b"\n".to_vec()].concat(),
        Garbage::Deep => [vec![b'['; 3000], b"\n".to_vec()].concat(),
        Garbage::Empty => b"{}\n[]\nnull\n3\n\"\"\n[[]]\n[{}]\n".to_vec(),
    }
}

/// Chunks that do not follow one another as they should.
pub(crate) fn chunks(id: &Value, fault: ChunkFault) -> Vec<u8> {
    let chunk = |id: &Value, index: Value| {
        let content = json!({"type": "text", "text": "part"});
        let mut params = json!({"request_id": id, "index": index, "content": content, "done": false});
        params.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        note("notifications/mgp.stream.chunk", &params)
    };
    let each = |indexes: &[i64]| indexes.iter().flat_map(|index| chunk(id, json!(index))).collect();
    match fault {
        ChunkFault::Gap => each(&[0, 2, 7]),
        ChunkFault::Twice => each(&[0, 0, 1, 1]),
        ChunkFault::Backwards => each(&[3, 2, 1, 0, -1, i64::MAX]),
        ChunkFault::NoIndex => chunk(id, Value::Null),
        ChunkFault::TextIndex => chunk(id, json!("0")),
        ChunkFault::UnknownCall => chunk(&json!(987_654), json!(0)),
        ChunkFault::NoCall => chunk(&Value::Null, json!(0)),
        ChunkFault::AfterEnd => {
            let end = json!({
                "request_id": id, "index": 0, "done": true, "content": {"type": "text", "text": "end"},
            });
            [note("notifications/mgp.stream.chunk", &end), each(&[1, 2])].concat()
        }
    }
}

/// Notifications that nobody knows, or with params of the wrong types.
pub(crate) fn notifications() -> Vec<u8> {
    let odd = [
        ("acme/whatever", json!({"a": [1]})),
        ("notifications/acme", json!({})),
        ("notifications/progress", json!({"progressToken": {"a": 1}, "progress": "half"})),
        ("notifications/message", json!({"level": 7})),
        ("notifications/resources/updated", json!({"uri": 3})),
        ("notifications/tasks/status", json!({"taskId": null})),
        ("notifications/cancelled", json!({"requestId": "nobody"})),
        ("notifications/cancelled", json!({"requestId": [1]})),
        ("notifications/subscriptions/acknowledged", json!({"notifications": 1})),
        ("notifications/mgp.lifecycle", json!({"new_state": "asleep"})),
    ];
    odd.iter().flat_map(|(method, params)| note(method, params)).collect()
}
