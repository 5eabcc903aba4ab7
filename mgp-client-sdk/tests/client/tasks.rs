//! Tools that go on as tasks.

use mgp_client_sdk::{Elicited, StartedTool};
use mgp_types::Revision;
use serde_json::json;

use crate::peer::*;

#[tokio::test(start_paused = true)]
async fn a_task_of_the_extension_is_polled_and_answered_2026() {
    let mut polls = 0;
    let builder = builder().tasks().on_elicitation(|_, _| async { Elicited::declined() });
    let (peer, client) = Peer::connect(Revision::V2026_07_28, builder, move |method, _| {
        let mut task = json!({"resultType": "task", "taskId": "t", "status": "working", "createdAt": "c",
            "lastUpdatedAt": "l", "ttlMs": null, "pollIntervalMs": 10});
        match method {
            "tools/call" => return task,
            "tasks/get" => {}
            _ => return json!({"resultType": "complete"}),
        }
        polls += 1;
        task["resultType"] = json!("complete");
        match polls {
            1 => {}
            2 | 3 => {
                let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
                task["status"] = json!("input_required");
                task["inputRequests"] = json!({"q": {"method": "elicitation/create", "params": form}});
            }
            _ => {
                task["status"] = json!("completed");
                task["result"] = text("done");
            }
        }
        task
    })
    .await;
    let StartedTool::Task(task) = client.start_tool("slow", ()).await.unwrap() else { panic!("no task") };
    assert!(peer.params("tools/call")[0].get("task").is_none());
    assert_eq!(task.wait().await.unwrap().content[0].as_text(), Some("done"));
    let updates = peer.params("tasks/update");
    assert_eq!(updates.len(), 1);
    assert_eq!(updates[0]["inputResponses"], json!({"q": {"action": "decline"}}));
    assert!(fails(client.call_tool("slow", ())).await.to_string().contains("task"));
}
