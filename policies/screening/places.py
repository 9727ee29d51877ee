"""Names for places in a body that are safe to show: schema words and indices, nothing else.

Owns the list of schema words of the four dialects. It must not know what was found.
"""

from policies.conversation import Address

LONGEST = 120
"""No place is longer than this many characters."""

_WORDS = """
    additional_tools allowed_callers annotations approval_request_id arguments audio author
    background budget_tokens cache_control call_id caller citations cited_text client_metadata code
    container container_id content content_block context context_management conversation custom
    custom_tool_call data default_config defer_loading description detail dimensions display
    document document_index document_title effort embedding_types enabled encoding_format
    encrypted_content encrypted_index encrypted_stdout end_char_index enum environment error
    error_code file file_data file_id file_url filename files format frequency_penalty function
    function_call functions grammar header headers id image image_url images include index input
    input_audio input_examples input_schema input_text instructions is_error items json_schema
    keep_alive logit_bias logprobs max_completion_tokens max_num_results max_output_tokens
    max_tokens max_tool_calls mcp_servers media_type messages metadata modalities mode model name
    namespace num_ctx num_predict object options output output_config output_text
    parallel_tool_calls parameters parts path phase prediction presence_penalty
    previous_response_id prompt prompt_cache_key prompt_cache_retention properties quality query
    raw reasoning reasoning_content reasoning_details reasoning_effort refusal required
    response_format result results return_code role safety_identifier schema seed server_label
    server_url service_tier session_id signature size source speed start_char_index status stderr
    stdout stop stop_sequences store stream stream_options strict suffix summary summary_text syntax
    system system_fingerprint task temperature template text think thinking thought_signature title
    token_count tool tool_call_id tool_calls tool_choice tool_name tool_use_id tools top_k
    top_logprobs top_p truncate truncation ttl type url user user_id variables verbosity
    web_search_options
"""
SCHEMA_WORDS = frozenset(_WORDS.split())
"""Keys that the dialects define. Every other key may be a secret and is shown as `*`."""


def place(address: Address) -> str:
    """`messages[3].content[0].input.*` for an address: at most `LONGEST` characters.

    SECURITY: a key that is not a schema word is never written out; keys can be the secret.
    """
    shown = ""
    for step in address:
        match step:
            case int():
                part = f"[{step}]"
            case str() if step in SCHEMA_WORDS:
                part = f".{step}" if shown else step
            case _:
                part = ".*" if shown else "*"
        if len(shown) + len(part) > LONGEST - 2:
            return shown + ".*"
        shown += part
    return shown


def place_of_key(address: Address) -> str:
    """The place of a finding in the key that ends `address`: ends in `*` whatever the key is."""
    return place((*address[:-1], ""))
