"""Where agents live: adapters that no build loads. MCP server and plug-in of `llm` use `api`, hooks use `config`."""
