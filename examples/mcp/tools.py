"""An MCP server with one tool, on standard input and output."""

from mcp.server import MCPServer

server = MCPServer("bookings")


@server.tool()
def book_table(place: str, people: int) -> str:
    """Books a table."""
    return f"Booked {place} for {people}."


if __name__ == "__main__":
    server.run("stdio")
