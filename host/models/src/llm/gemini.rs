//! Gemini: `:streamGenerateContent`, with Google Search as a tool.

use gatehouse_core::ports::llm::ModelPrompt;
use serde_json::{Value, json};

use super::{EventResult, LlmApi, ParseEvents, PartialCompletion, ReasoningEffort, StreamFlow, schema, set};

pub(crate) const VERSION: &str = "v1beta";

pub(crate) struct GenerateContent {
    pub(crate) version: String,
}

impl LlmApi for GenerateContent {
    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let mut text = prompt.text.clone();
        let mut config = json!({});
        set(&mut config, "maxOutputTokens", prompt.max_tokens);
        set(&mut config, "temperature", prompt.temperature);
        set(&mut config, "thinkingConfig", thinking(model, ReasoningEffort::from_prompt(prompt)));
        match &prompt.schema {
            // Most models reject a schema together with a tool.
            Some(schema) if prompt.web_search => text.push_str(&schema::in_words(schema)),
            Some(schema) => {
                config["responseMimeType"] = json!("application/json");
                config["responseJsonSchema"] = json!(schema);
            }
            None => {}
        }
        let mut body = json!({ "contents": [{ "role": "user", "parts": [{ "text": text }] }] });
        if let Some(system) = &prompt.system {
            body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
        }
        if config.as_object().is_some_and(|config| !config.is_empty()) {
            body["generationConfig"] = config;
        }
        if prompt.web_search {
            body["tools"] = json!([{ "googleSearch": {} }]);
        }
        (format!("{}/models/{model}:streamGenerateContent?alt=sse", self.version), body)
    }

    fn parser(&self, prompt: &ModelPrompt) -> impl ParseEvents {
        GeminiParser { searching: prompt.web_search }
    }
}

/// Returns a token budget for 2.5 models, a level for later ones, `None` for the model's default.
fn thinking(model: &str, effort: ReasoningEffort) -> Option<Value> {
    let later = model.strip_prefix("gemini-").is_some_and(|rest| rest.starts_with(['3', '4']));
    match effort {
        // All 2.5 models accept budgets from 512 to 24,576.
        _ if model.starts_with("gemini-2.5") => {
            let budget = match effort {
                ReasoningEffort::Low => 1024,
                ReasoningEffort::Medium => 8192,
                ReasoningEffort::High => 24_576,
            };
            Some(json!({ "thinkingBudget": budget }))
        }
        // Not all of them have a medium level.
        ReasoningEffort::Low if later => Some(json!({ "thinkingLevel": "LOW" })),
        ReasoningEffort::High if later => Some(json!({ "thinkingLevel": "HIGH" })),
        _ => None,
    }
}

struct GeminiParser {
    /// True until the first event reports the search. Gemini sends its queries only at the end.
    searching: bool,
}

impl ParseEvents for GeminiParser {
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        if event.get("error").or_else(|| event.get(0)?.get("error")).is_some() {
            let code = event["error"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            return partial.failed(code.unwrap_or(0), event);
        }
        if std::mem::take(&mut self.searching) {
            partial.report_search(None);
        }
        if let Some(reason) = event["promptFeedback"]["blockReason"].as_str() {
            return partial.refused(&format!("the prompt was blocked ({reason})"));
        }
        partial.set_model(&event["modelVersion"]);
        cost(&event["usageMetadata"], partial);
        let candidate = &event["candidates"][0];
        grounded(&candidate["groundingMetadata"], partial);
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            if part["thought"] != true
                && let Some(text) = part["text"].as_str()
                && partial.write(text) == StreamFlow::Done
            {
                return Ok(StreamFlow::Done);
            }
        }
        match candidate["finishReason"].as_str() {
            None | Some("FINISH_REASON_UNSPECIFIED") => return Ok(StreamFlow::More),
            Some("STOP") => {}
            Some("MAX_TOKENS") => partial.out_of_tokens(),
            Some(
                reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"),
            ) => return partial.refused(&format!("the response was blocked ({reason})")),
            Some(other) => partial.cut_short_by(other),
        }
        // Grounding metadata may follow.
        partial.finished = true;
        Ok(StreamFlow::More)
    }
}

fn cost(usage: &Value, partial: &mut PartialCompletion<'_>) {
    let sum = |keys: [&str; 2]| {
        let numbers = keys.map(|key| usage[key].as_u64());
        numbers.iter().any(Option::is_some).then(|| numbers.into_iter().flatten().sum())
    };
    let read = sum(["promptTokenCount", "toolUsePromptTokenCount"]);
    partial.record_usage(read, sum(["candidatesTokenCount", "thoughtsTokenCount"]));
}

/// Reports the queries and pages that the response is based on. The URLs are Google's redirects.
fn grounded(metadata: &Value, partial: &mut PartialCompletion<'_>) {
    for query in metadata["webSearchQueries"].as_array().into_iter().flatten().take(16) {
        partial.report_search(query.as_str());
    }
    for chunk in metadata["groundingChunks"].as_array().into_iter().flatten() {
        partial.sources.quoted(chunk["web"]["uri"].as_str(), chunk["web"]["title"].as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_bounded_in_the_terms_of_each_generation() {
        assert_eq!(
            thinking("gemini-2.5-flash", ReasoningEffort::Low),
            Some(json!({ "thinkingBudget": 1024 }))
        );
        assert_eq!(
            thinking("gemini-2.5-pro", ReasoningEffort::High),
            Some(json!({ "thinkingBudget": 24_576 }))
        );
        assert_eq!(thinking("gemini-3-pro", ReasoningEffort::High), Some(json!({ "thinkingLevel": "HIGH" })));
        assert_eq!(thinking("gemini-3-pro", ReasoningEffort::Medium), None);
        assert_eq!(thinking("gemini-2.0-flash", ReasoningEffort::High), None);
    }
}
