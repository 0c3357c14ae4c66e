//! Custom resource definitions with expensive or malformed rules and schemas.

use serde_json::{Value, json};

use super::target::{DEFINITIONS, Target, WIDGETS, definition, widget};

/// A rule whose cost is 100 to the power of eight. The definition is rejected; if not, writes of objects must be.
pub(super) async fn nested_all(target: &Target) -> anyhow::Result<String> {
    let mut rule = "true".to_owned();
    for level in 0..8 {
        rule = format!("self.l.all(v{level}, {rule})");
    }
    let items = json!({"type": "array", "items": {"type": "integer"}});
    let spec = ruled(&json!({"l": items}), &rule);
    write_object(target, spec, json!({"l": (0..100).collect::<Vec<_>>()})).await
}

/// Rules that ended the process when an object was written.
pub(super) async fn fatal_rules(target: &Target) -> anyhow::Result<String> {
    let long = format!("// '\nself{} == 1", ".a".repeat(3_900));
    let nested = format!("{}1{} == 1", "(".repeat(5_000), ")".repeat(5_000));
    let lists = format!("{}{} == []", "[".repeat(5_000), "]".repeat(5_000));
    let rules = [
        "Foo{a:1}.a == 1",
        "'%.9999999999999999999f'.format([1.0]) == ''",
        "'%.2147483647f'.format([1.0]) == ''",
        "'%9999999999d'.format([1]) == ''",
        &long,
        &nested,
        &lists,
        &format!("{}true", "!".repeat(9_000)),
        &format!("{}1 == 1", "-".repeat(9_000)),
        &format!("1{} == 1", " + 1".repeat(9_000)),
        "9223372036854775807 + 1 == 0",
        "-9223372036854775808 / -1 == 0",
        "int(1e300) == 0",
        "duration('9223372036854775807s') == duration('1s')",
        "timestamp('9999-12-31T23:59:59Z') + duration('2562047h') == timestamp('2000-01-01T00:00:00Z')",
        "'a'.matches('(((a{1000}){1000}){1000})')",
        "quantity('9223372036854775807E').add(quantity('1E')).isGreaterThan(quantity('1'))",
        "[1][9223372036854775807] == 1",
        "'a'.substring(-9223372036854775808) == 'a'",
        "lists.range(9223372036854775807).size() == 0",
    ];
    let mut last = String::new();
    for rule in rules {
        let spec = ruled(&json!({"a": {"type": "integer"}}), rule);
        last = write_object(target, spec, json!({"a": 1})).await?;
    }
    Ok(format!("{} rules; the last: {last}", rules.len()))
}

pub(super) async fn patterns(target: &Target) -> anyhow::Result<String> {
    let mut last = String::new();
    let patterns = [
        "(((a{1000}){1000}){1000})".to_owned(),
        "(a|a)*".repeat(5_000),
        "(".repeat(10_000) + &")".repeat(10_000),
        r"\p{L}{1000}".to_owned(),
        "[".repeat(10_000),
        "(?i:".repeat(500) + &")".repeat(500),
    ];
    for pattern in &patterns {
        let spec =
            json!({"type": "object", "properties": {"s": {"type": "string", "pattern": pattern}}});
        let value = json!({"s": "a".repeat(100_000)});
        last = write_object(target, spec, value).await?;
    }
    Ok(format!("{} patterns; the last: {last}", patterns.len()))
}

/// Defaults in lists in defaults: 20 levels of ten items each.
pub(super) async fn nested_defaults(target: &Target) -> anyhow::Result<String> {
    const LEVELS: usize = 20;
    let leaf = json!({"type": "object", "properties": {"text": {"type": "string", "default": "x".repeat(1_000)}}});
    let exploding = (0..LEVELS).fold(leaf, |inner, _| {
        json!({"type": "object", "properties": {"l": {
            "type": "array", "items": inner, "default": vec![json!({}); 10],
        }}})
    });
    let object = |name: &str| widget(name, &json!({}));
    // On write.
    let created = target
        .post(DEFINITIONS, &definition("widgets", &exploding))
        .await?;
    if created.code == 201 {
        while target.get(WIDGETS).await?.code == 404 {
            tokio::task::yield_now().await;
        }
        let written = target.post(WIDGETS, &object("w")).await?;
        written.expect(&[400, 413, 422])?;
    } else {
        created.expect(&[400, 422])?;
    }
    remove_definition(target).await?;
    // On read: objects that were written before the defaults.
    let mut plain = definition(
        "widgets",
        &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    );
    target.post(DEFINITIONS, &plain).await?.expect(&[201])?;
    while target.get(WIDGETS).await?.code == 404 {
        tokio::task::yield_now().await;
    }
    for number in 0..5 {
        let written = target.post(WIDGETS, &object(&format!("w{number}"))).await?;
        written.expect(&[201])?;
    }
    plain["spec"] = definition("widgets", &exploding)["spec"].clone();
    let patch = json!({"spec": plain["spec"]}).to_string();
    let path = format!("{DEFINITIONS}/widgets.attack.example.com");
    let merge = "application/merge-patch+json";
    let changed = target.send("PATCH", &path, merge, patch).await?;
    changed.expect(&[200, 400, 422])?;
    let one = target.get(&format!("{WIDGETS}/w0")).await?;
    one.expect(&[200, 413, 422, 429, 500])?;
    let all = target
        .get(WIDGETS)
        .await?
        .expect(&[200, 413, 422, 429, 500])?;
    remove_definition(target).await?;
    Ok(format!("definition {}, list {all}", changed.code))
}

pub(super) async fn deep_schema(target: &Target) -> anyhow::Result<String> {
    let mut last = String::new();
    for levels in [100, 1_000, 5_000] {
        let open = r#"{"type":"object","properties":{"a":"#.repeat(levels);
        let spec = format!(r#"{open}{{"type":"string"}}{}"#, "}}".repeat(levels));
        let text = definition("widgets", &json!("SPEC")).to_string();
        let body = text.replace("\"SPEC\"", &spec);
        let answer = target
            .send("POST", DEFINITIONS, "application/json", body)
            .await?;
        last = answer.expect(&[201, 400, 413, 422])?;
        remove_definition(target).await?;
    }
    Ok(last)
}

/// Creates a definition and an object of it; either may be rejected. Leaves nothing behind.
async fn write_object(target: &Target, spec: Value, value: Value) -> anyhow::Result<String> {
    let created = target
        .post(DEFINITIONS, &definition("widgets", &spec))
        .await?;
    if created.code != 201 {
        return created.expect(&[400, 422]);
    }
    while target.get(WIDGETS).await?.code == 404 {
        tokio::task::yield_now().await;
    }
    let written = target.post(WIDGETS, &widget("w", &value)).await?;
    let answer = written.expect(&[201, 400, 422])?;
    remove_definition(target).await?;
    Ok(answer)
}

async fn remove_definition(target: &Target) -> anyhow::Result<()> {
    let path = format!("{DEFINITIONS}/widgets.attack.example.com");
    target.delete(&path).await?.expect(&[200, 202, 404])?;
    while target.get(&path).await?.code != 404 {
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn ruled(properties: &Value, rule: &str) -> Value {
    json!({"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]})
}
