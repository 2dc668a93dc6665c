import AttoText

/// A request for the status, of the part of HTTP that is needed: GET and HEAD of a few paths, and POST of an answer
/// to a device that pairs. A connection carries one request.
struct StatusRequest: Equatable {
  /// Octets of a request, with the empty line at its end.
  static let lengthLimit = 8192
  /// Octets of the body of a POST.
  static let bodyLimit = 256

  enum Page: Equatable {
    case table
    case text
    case metrics
    case json
    case heard
    case pair
    /// An answer to the question of a device that pairs.
    case answer(question: String, String)
  }

  enum Refusal: Int, Error {
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case misdirected = 421
    case notFound = 404
    case methodNotAllowed = 405
    case contentTooLarge = 413
    case tooLong = 431

    var text: String {
      switch self {
      case .badRequest: "Bad Request"
      case .unauthorized: "Unauthorized"
      case .forbidden: "Forbidden"
      case .misdirected: "Misdirected Request"
      case .notFound: "Not Found"
      case .methodNotAllowed: "Method Not Allowed"
      case .contentTooLarge: "Content Too Large"
      case .tooLong: "Request Header Fields Too Large"
      }
    }
  }

  let page: Page
  /// Whether only the head of the response is asked for.
  let isHead: Bool
  /// The password of the Basic scheme (RFC 7617); nil if there is none.
  private let password: [UInt8]?

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
    let isPost = words[0] == "POST" && words[1] == "/pair"
    guard isPost || words[0] == "GET" || words[0] == "HEAD" else { throw .methodNotAllowed }
    isHead = words[0] == "HEAD"
    // A page of the web that has a name of this machine (DNS rebinding) must not read the status.
    if !isLocal, !lines.dropFirst().allSatisfy(Self.isHarmless) { throw .misdirected }
    password = try Self.value(of: "authorization", in: lines).flatMap(Self.password)
    if isPost {
      guard try Self.isOwn(lines) else { throw .forbidden }
      guard let length = try Self.value(of: "content-length", in: lines).flatMap({ UInt($0) })
      else { throw .badRequest }
      guard length <= Self.bodyLimit else { throw .contentTooLarge }
      let body = octets[(end + 1)...]
      guard body.count >= length else { return nil }
      page = try Self.answer(body.prefix(Int(length)))
      return
    }
    switch words[1].prefix(while: { $0 != "?" }) {
    case "/": page = .table
    case "/status.txt": page = .text
    case "/metrics": page = .metrics
    case "/status.json": page = .json
    case "/heard": page = .heard
    case "/pair": page = .pair
    default: throw .notFound
    }
  }

  /// Whether the request has this password. The time does not depend on where they differ.
  func has(_ token: String) -> Bool {
    guard let password, password.count == token.utf8.count else { return false }
    return zip(password, token.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// Whether a POST comes from a page of this server, or from a program that is no browser. Browsers send the
  /// password with requests of other sites as well. Behind TLS they tell whose page it is in Sec-Fetch-Site;
  /// otherwise Origin has the host.
  private static func isOwn(_ lines: [Substring]) throws(Refusal) -> Bool {
    if let site = try value(of: "sec-fetch-site", in: lines) { return site == "same-origin" }
    guard let origin = try value(of: "origin", in: lines) else { return true }
    return try value(of: "host", in: lines).map { origin == "http://\($0)" } ?? false
  }

  /// Reads the fields of the form, whose values need no escapes.
  private static func answer(_ body: ArraySlice<UInt8>) throws(Refusal) -> Page {
    var values: [Substring: Substring] = [:]
    for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
      let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
      guard parts.count == 2, values.updateValue(parts[1], forKey: parts[0]) == nil else {
        throw .badRequest
      }
    }
    guard values.count == 2, let question = values["question"], let answer = values["answer"] else {
      throw .badRequest
    }
    return .answer(question: String(question), String(answer))
  }

  /// The value of a header field, which may be there once.
  private static func value(
    of name: String, in lines: [Substring]
  ) throws(Refusal) -> Substring? {
    var found: Substring?
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].lowercased() == name else { continue }
      guard found == nil else { throw .badRequest }
      let start = parts[1].drop { $0 == " " || $0 == "\t" }
      let end = start.lastIndex { $0 != " " && $0 != "\t" }.map(start.index(after:))
      found = start[..<(end ?? start.startIndex)]
    }
    return found
  }

  private static func password(_ authorization: Substring) -> [UInt8]? {
    let words = authorization.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "basic",
      let octets = Base64.decode(words[1].utf8), let colon = octets.firstIndex(of: 0x3A)
    else { return nil }
    return Array(octets[(colon + 1)...])
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
