/// A request for the status, of the part of HTTP that is needed: GET and HEAD of a few paths. A request
/// has no body, and a connection carries one request.
struct StatusRequest: Equatable {
  /// Octets of a request, with the empty line at its end.
  static let lengthLimit = 8192

  enum Page: Equatable {
    case table
    case text
    case metrics
    case json
    case heard
  }

  enum Refusal: Int, Error {
    case badRequest = 400
    case misdirected = 421
    case notFound = 404
    case methodNotAllowed = 405
    case tooLong = 431

    var text: String {
      switch self {
      case .badRequest: "Bad Request"
      case .misdirected: "Misdirected Request"
      case .notFound: "Not Found"
      case .methodNotAllowed: "Method Not Allowed"
      case .tooLong: "Request Header Fields Too Large"
      }
    }
  }

  let page: Page
  /// Whether only the head of the response is asked for.
  let isHead: Bool

  /// Parses what has arrived; nil if more is to come.
  init?(_ octets: [UInt8], isLocal: Bool) throws(Refusal) {
    guard let end = Self.end(of: octets.prefix(Self.lengthLimit)) else {
      if octets.count >= Self.lengthLimit { throw .tooLong }
      return nil
    }
    let lines = String(decoding: octets[..<end], as: UTF8.self)
      .split(whereSeparator: \.isNewline)
    let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
      throw .badRequest
    }
    guard words[0] == "GET" || words[0] == "HEAD" else { throw .methodNotAllowed }
    isHead = words[0] == "HEAD"
    // A page of the web that has a name of this machine (DNS rebinding) must not read the status.
    if !isLocal, !lines.dropFirst().allSatisfy(Self.isHarmless) { throw .misdirected }
    switch words[1].prefix(while: { $0 != "?" }) {
    case "/": page = .table
    case "/status.txt": page = .text
    case "/metrics": page = .metrics
    case "/status.json": page = .json
    case "/heard": page = .heard
    default: throw .notFound
    }
  }

  /// The end of the header; nil if it has not arrived.
  private static func end(of octets: ArraySlice<UInt8>) -> Int? {
    var lineIsEmpty = false
    for (index, octet) in octets.enumerated() {
      if octet == 0x0A {
        if lineIsEmpty { return index }
        lineIsEmpty = true
      } else if octet != 0x0D {
        lineIsEmpty = false
      }
    }
    return nil
  }

  /// Whether a line is not a Host other than an address or `localhost`.
  private static func isHarmless(_ line: Substring) -> Bool {
    let parts = line.split(separator: ":", maxSplits: 1)
    guard parts.first?.lowercased() == "host", parts.count == 2 else { return true }
    let host = parts[1].drop { $0 == " " }
    return host.hasPrefix("localhost") && !host.dropFirst(9).contains { $0 != ":" && !$0.isNumber }
      || host.allSatisfy { $0.isNumber || $0 == "." || $0 == ":" }
      || host.hasPrefix("[")
  }
}
