//! Tests of entries as registries publish them, and of hostile ones.

use serde_json::json;

use super::*;

fn entry(server: Value) -> RegistryEntry {
    let mut server = server;
    let object = server.as_object_mut().expect("an object");
    object.entry("name").or_insert_with(|| "io.github.a/b".into());
    object.entry("version").or_insert_with(|| "1.2.3".into());
    serde_json::from_value(server).expect("an entry")
}

fn package(mut package: Value) -> RegistryEntry {
    let object = package.as_object_mut().expect("an object");
    for (key, value) in [("registryType", "npm"), ("identifier", "@acme/files"), ("version", "1.2.3")] {
        object.entry(key).or_insert_with(|| value.into());
    }
    object.entry("transport").or_insert_with(|| json!({"type": "stdio"}));
    entry(json!({"packages": [package]}))
}

fn made(entry: &RegistryEntry, values: &[(&str, &str)]) -> Result<EntryDefinition, PlainError> {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    definition(entry, false, values, "files")
}

fn refused(entry: &RegistryEntry) -> String {
    made(entry, &[]).map(|made| made.definition).expect_err("refused").to_string()
}

#[test]
fn packages_become_pinned_commands() {
    let definition =
        |entry: RegistryEntry| Value::Object(made(&entry, &[]).expect("a definition").definition);
    assert_eq!(
        definition(package(json!({}))),
        json!({"command": "npx", "args": ["-y", "@acme/files@1.2.3"]})
    );
    let pypi = package(
        json!({"registryType": "pypi", "identifier": "acme-files", "registryBaseUrl": "https://pypi.org"}),
    );
    assert_eq!(definition(pypi), json!({"command": "uvx", "args": ["acme-files@1.2.3"]}));
    let image = package(json!({
        "registryType": "oci", "identifier": "docker.io/acme/files:v1.2.3", "version": "",
        "runtimeArguments": [{"type": "named", "name": "-i"}],
        "environmentVariables": [{"name": "MODE", "default": "ro"}],
    }));
    let args = ["run", "-i", "--rm", "-e", "MODE", "docker.io/acme/files:v1.2.3"];
    assert_eq!(definition(image), json!({"command": "docker", "args": args, "env": {"MODE": "ro"}}));
}

#[test]
fn arguments_and_variables_are_filled_in() {
    let files = package(json!({
        "packageArguments": [
            {"type": "positional", "valueHint": "directory", "isRequired": true, "description": "what it may read"},
            {"type": "named", "name": "--log", "default": "info"},
            {"type": "named", "name": "--color", "value": "true"},
            {"type": "named", "name": "--theme"},
        ],
        "environmentVariables": [
            {"name": "API_KEY", "isRequired": true, "isSecret": true, "description": "your key"},
            {"name": "PROXY_TOKEN", "isSecret": true},
            {"name": "REGION", "default": "eu"},
        ],
    }));
    let reason = refused(&files);
    assert_eq!(reason, "it needs values; add --set directory=VALUE (what it may read)");
    let EntryDefinition { definition, variables } =
        made(&files, &[("directory", "/srv")]).expect("a definition");
    let args = ["-y", "@acme/files@1.2.3", "/srv", "--log", "info", "--color"];
    assert_eq!(definition["args"], json!(args));
    assert_eq!(definition["env"], json!({"API_KEY": "${FILES_API_KEY}", "REGION": "eu"}));
    assert_eq!(variables, [("FILES_API_KEY".to_owned(), "your key".to_owned())]);
    let unknown = made(&files, &[("directory", "/srv"), ("dir", "/")]).map(drop).expect_err("unknown");
    assert_eq!(unknown.to_string(), "it has no value 'dir' to set");
}

#[test]
fn addresses_take_secrets_from_the_environment() {
    let remote = entry(json!({"remotes": [
        {"type": "streamable-http", "url": "https://{tenant}.example.com/mcp", "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "isSecret": true, "description": "a token"},
            {"name": "X-Region", "default": "eu"},
        ]},
    ]}));
    assert!(refused(&remote).contains("--set tenant=VALUE"));
    let braces = made(&remote, &[("tenant", "{tenant}")]).expect("a definition").definition;
    assert_eq!(braces["url"], "https://{tenant}.example.com/mcp", "a value is not a template");
    let reading = entry(json!({"remotes": [{"type": "sse", "url": "https://a.example/${HOME}"}]}));
    assert!(refused(&reading).contains("would read the environment"));
    let EntryDefinition { definition, variables } =
        made(&remote, &[("tenant", "acme")]).expect("a definition");
    let expected = json!({
        "url": "https://acme.example.com/mcp",
        "headers": {"Authorization": "Bearer ${FILES_TOKEN}", "X-Region": "eu"},
    });
    assert_eq!(Value::Object(definition), expected);
    assert_eq!(variables[0].0, "FILES_TOKEN");
}

#[test]
fn a_hostile_entry_is_refused() {
    for (hostile, reason) in [
        (json!({"version": "latest"}), "'latest' is not an exact version"),
        (json!({"version": "^1.0.0"}), "not an exact version"),
        (json!({"version": "1.x"}), "not an exact version"),
        (json!({"version": "1"}), "not an exact version"),
        (json!({"version": "1.2-beta.3.4"}), "not an exact version"),
        (json!({"identifier": "evil/repo"}), "is not the name of a package"),
        (json!({"identifier": "@evil/a/b"}), "is not the name of a package"),
        (json!({"registryType": "oci", "identifier": "acme/files@sha256:zzz"}), "has no valid digest"),
        (json!({"registryType": "oci", "identifier": "acme/files:1"}), "not an exact version"),
        (
            json!({"packageArguments": [{"type": "named", "name": "${GITHUB_TOKEN}", "value": "true"}]}),
            "would read the environment",
        ),
        (
            json!({"environmentVariables": [{"name": "GIT_SSH_COMMAND", "default": "evil"}]}),
            "it sets the variable GIT_SSH_COMMAND",
        ),
        (json!({"version": "1.0.0 --registry=https://evil.example"}), "not an exact version"),
        (json!({"identifier": "--registry=https://evil.example"}), "is not the name of a package"),
        (json!({"identifier": "a b"}), "is not the name of a package"),
        (json!({"identifier": "../x"}), "is not the name of a package"),
        (json!({"registryBaseUrl": "https://evil.example"}), "in another registry of packages"),
        (
            json!({"runtimeArguments": [{"type": "named", "name": "--registry", "value": "https://evil.example"}]}),
            "it runs with the option",
        ),
        (
            json!({"registryType": "oci", "identifier": "acme/files:1.0.0", "runtimeArguments": [{"type": "named", "name": "-v", "value": "/:/host"}]}),
            "it runs with the option '-v /:/host'",
        ),
        (
            json!({"registryType": "oci", "identifier": "acme/files:latest", "version": ""}),
            "not an exact version",
        ),
        (json!({"registryType": "oci", "identifier": "acme/files", "version": ""}), "not an exact version"),
        (
            json!({"packageArguments": [{"type": "positional", "value": "${AWS_SECRET_ACCESS_KEY}"}]}),
            "would read the environment",
        ),
        (
            json!({"environmentVariables": [{"name": "X", "default": "${HOME}"}]}),
            "would read the environment",
        ),
        (json!({"environmentVariables": [{"name": "X=Y", "default": "1"}]}), "is not the name of a variable"),
        (
            json!({"environmentVariables": [{"name": "npm_config_registry", "value": "https://evil.example"}]}),
            "it sets the variable npm_config_registry",
        ),
        (
            json!({"environmentVariables": [{"name": "NODE_OPTIONS", "default": "--require /tmp/x"}]}),
            "it sets the variable NODE_OPTIONS",
        ),
        (
            json!({"environmentVariables": [{"name": "Path", "isRequired": true}]}),
            "it sets the variable Path",
        ),
        (
            json!({"registryType": "oci", "identifier": "acme/files:1.0.0", "environmentVariables": [{"name": "DOCKER_HOST", "value": "tcp://evil.example"}]}),
            "it sets the variable DOCKER_HOST",
        ),
        (json!({"registryType": "mcpb"}), "no package of npm, PyPI or OCI for stdio"),
        (json!({"transport": {"type": "streamable-http"}}), "no package of npm, PyPI or OCI for stdio"),
    ] {
        let refused = refused(&package(hostile.clone()));
        assert!(refused.contains(reason), "{hostile}: {refused}");
    }
    assert!(refused(&entry(json!({}))).contains("no address"));
    let open = entry(json!({"remotes": [{"type": "sse", "url": "http://169.254.169.254/latest"}]}));
    assert!(refused(&open).contains("is not encrypted"));
}

#[test]
fn an_address_is_chosen_on_request() {
    let both = entry(json!({
        "packages": [{"registryType": "npm", "identifier": "b", "version": "1.2.3", "transport": {"type": "stdio"}}],
        "remotes": [{"type": "sse", "url": "https://b.example/sse"}],
    }));
    let local = definition(&both, false, BTreeMap::new(), "b").expect("a definition").definition;
    assert_eq!(local["command"], "npx");
    let remote = definition(&both, true, BTreeMap::new(), "b").expect("a definition").definition;
    assert_eq!(Value::Object(remote), json!({"url": "https://b.example/sse", "transport": "sse"}));
    let reason =
        definition(&package(json!({})), true, BTreeMap::new(), "b").map(drop).expect_err("no address");
    assert_eq!(reason.to_string(), "it has no address; leave out --remote");
}

#[test]
fn an_entry_reads_only_variables_of_its_own() {
    let entry = package(json!({"environmentVariables": [
        {"name": "GITHUB_TOKEN", "isRequired": true, "isSecret": true},
        {"name": "MODE", "value": "{GITHUB_TOKEN}"},
        {"name": "FILES_KEY", "isRequired": true, "isSecret": true},
    ]}));
    let EntryDefinition { definition, variables } = made(&entry, &[]).expect("a definition");
    let own = "${FILES_GITHUB_TOKEN}";
    assert_eq!(definition["env"], json!({"GITHUB_TOKEN": own, "MODE": own, "FILES_KEY": "${FILES_KEY}"}));
    assert_eq!(variables.len(), 2);
    let of_1password = super::definition(&entry, false, BTreeMap::new(), "1password").expect("a definition");
    assert_eq!(of_1password.variables[0].0, "VALUE_1PASSWORD_GITHUB_TOKEN");
}
