//! A key goes only where its owner lets it go, and only programs the user chose run: a project's file cannot send keys to a host of its
//! own, nor have a program of its own started.

use super::{ConfigFile, Layer, Origin};
use crate::error::CliError;
use rebut_engine::record::Hash;
use rebut_models::{CliData, ProviderData, registry::built_in};

/// Refuses a project file that would send a key to a host, or start a program, that the user has not chosen. A file named on the command line is a choice.
pub fn check(layers: &[Layer], origin: &Origin) -> Result<(), CliError> {
    let parse = |layer: &Layer| super::layers::typed::<ConfigFile>(&layer.path.display().to_string(), &layer.table);
    let mut user = ConfigFile::default();
    for layer in layers.iter().filter(|layer| !layer.is_project) {
        user = parse(layer)?;
    }
    if origin.named.is_some() {
        return Ok(());
    }
    for layer in layers.iter().filter(|layer| layer.is_project) {
        let project = parse(layer)?;
        if !project.trust.is_empty() {
            return Err(CliError::usage(format!("{}: [trust] is for your own configuration file only", layer.path.display())));
        }
        if layer.table.contains_key("hook") {
            let message = format!("{}: [hook] is for your own configuration file only", layer.path.display());
            let hint = "a project's file must not have reviews run, and paid for, whenever a coding agent works in it";
            return Err(CliError::usage(message).hint(hint));
        }
        if layer.table.contains_key("server") {
            let message = format!("{}: [server] is for your own configuration file only", layer.path.display());
            let hint = "a project's file must not say which models a server may be asked for, nor which debates it removes; --config names another file";
            return Err(CliError::usage(message).hint(hint));
        }
        if project.defaults.database.is_some() {
            let message = format!("{}: database under [defaults] is for your own configuration file only", layer.path.display());
            return Err(CliError::usage(message).hint("a project's file must not choose the server that your debates are sent to"));
        }
        check_embeddings(layer, &project, layers.iter().filter(|layer| !layer.is_project).find_map(embeddings))?;
        for (name, data) in &project.providers {
            check_provider(name, data, &user).map_err(|(key, host)| {
                let message = format!("{}: provider `{name}` would send the key in {key} to {host}", layer.path.display());
                CliError::usage(message).hint(format!("if you trust that host, add to {}:  [trust] hosts = [\"{host}\"]", own_file(origin)))
            })?;
        }
        for (name, data) in &project.clis {
            let mark = mark(name, data)?;
            if !user.trust.clis.contains(&mark) {
                let message = format!("{}: [clis.{name}] would have a program started", layer.path.display());
                let hint = format!("read that section; if you trust it, add to {}:  [trust] clis = [\"{mark}\"]", own_file(origin));
                return Err(CliError::usage(message).hint(hint));
            }
        }
    }
    Ok(())
}

/// The lessons of all debates go to the embedding model, also those of other projects: no project chooses it, or moves the provider it is at.
fn check_embeddings(layer: &Layer, project: &ConfigFile, chosen: Option<&str>) -> Result<(), CliError> {
    let refused = |what: String| {
        let hint = "the lessons of all your debates are sent to that model, also those of other projects";
        Err(CliError::usage(format!("{}: {what}", layer.path.display())).hint(hint))
    };
    if embeddings(layer).is_some() {
        return refused("embeddings under [solve] is for your own configuration file only".to_owned());
    }
    let provider = chosen.and_then(|model| model.split(':').next()).unwrap_or_default();
    match project.providers.get(provider) {
        Some(data) if data.base_url.is_some() => {
            refused(format!("[providers.{provider}] would move your embedding model to another address"))
        }
        _ => Ok(()),
    }
}

/// The embedding model that a file names.
fn embeddings(layer: &Layer) -> Option<&str> {
    layer.table.get("solve")?.get("embeddings")?.as_str()
}

/// What trust in a section is written as. It goes with the section's content: a changed one must be trusted anew.
fn mark(name: &str, data: &CliData) -> Result<String, CliError> {
    let content = serde_json::to_vec(data).map_err(|error| CliError::failed(error.to_string()))?;
    Ok(format!("{name}@{}", &Hash::of(&content).to_string()[..32]))
}

fn own_file(origin: &Origin) -> String {
    origin.user_file().map_or_else(|| "your own configuration".to_owned(), |file| file.display().to_string())
}

/// The key's variable and the host, if that host was not chosen for it.
fn check_provider(name: &str, project: &ProviderData, user: &ConfigFile) -> Result<(), (String, String)> {
    let known = built_in().remove(name).unwrap_or_default();
    let own = user.providers.get(name).cloned().unwrap_or_default();
    let chosen_key = own.key_env.clone().or_else(|| known.key_env.clone());
    let chosen_host = own.base_url.as_deref().or(known.base_url.as_deref()).map(host).unwrap_or_default();
    let key = project.key_env.clone().or_else(|| chosen_key.clone()).filter(|key| !key.is_empty());
    let host = project.base_url.as_deref().map_or_else(|| chosen_host.clone(), host);
    let Some(key) = key else { return Ok(()) };
    let as_chosen = host == chosen_host && Some(&key) == chosen_key.as_ref();
    let trusted = user.trust.hosts.iter().any(|trusted| trusted.eq_ignore_ascii_case(&host));
    if as_chosen || trusted || is_loopback(&host) { Ok(()) } else { Err((key, host)) }
}

/// The host of a URL, without user, port and path.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.').to_lowercase()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_cannot_send_keys_elsewhere() {
        let provider = |base_url: Option<&str>, key_env: Option<&str>| ProviderData {
            base_url: base_url.map(str::to_owned),
            key_env: key_env.map(str::to_owned),
            ..ProviderData::default()
        };
        let mut user = ConfigFile::default();
        user.trust.hosts.push("models.example.org".to_owned());
        let rows = [
            ("openai", provider(None, None), true),
            ("openai", provider(Some("https://api.openai.com/v2"), None), true),
            ("openai", provider(Some("https://evil.example/v1"), None), false),
            ("openai", provider(Some("https://api.openai.com@evil.example/v1"), None), false),
            ("openai", provider(None, Some("AWS_SECRET_ACCESS_KEY")), false),
            ("mine", provider(Some("https://evil.example/v1"), Some("OPENAI_API_KEY")), false),
            ("mine", provider(Some("https://evil.example/v1"), None), true),
            ("mine", provider(Some("https://MODELS.example.org:8443/v1"), Some("MY_KEY")), true),
            ("mine", provider(Some("http://127.0.0.1:8080/v1"), Some("MY_KEY")), true),
            ("mine", provider(Some("http://[::1]:8080/v1"), Some("MY_KEY")), true),
            ("mine", provider(Some("http://localhost.evil.example/v1"), Some("MY_KEY")), false),
        ];
        for (name, data, allowed) in rows {
            assert_eq!(check_provider(name, &data, &user).is_ok(), allowed, "{name} {data:?}");
        }
    }
}
