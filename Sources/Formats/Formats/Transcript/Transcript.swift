import AttoATT

/// Conformance cases as lists of PDUs, as stored in `.att` files.
public struct Transcript: Sendable, Equatable {
  /// The profile of the server in cases that name none, as a path relative to the transcript's folder.
  public var profile: String?
  /// The cases in the order of the file.
  public var cases: [Case]

  /// Creates a transcript.
  public init(profile: String? = nil, cases: [Case] = []) {
    self.profile = profile
    self.cases = cases
  }

  /// ATT_MTU of enhanced bearers for which a transcript gives none. Vol 3, Part G, 5.3.1.
  static let smallestBearerMTU = 64

  /// The profile of a case, or the transcript's.
  public func profile(of test: Case) -> String? { test.profile ?? profile }

  /// A test with its own link.
  public struct Case: Sendable, Equatable {
    /// The name of the conformance case, one word such as `GAR/SR/BV-01-C`.
    public var name: String
    /// A short description; may be empty.
    public var title: String
    /// The case's own profile, as written.
    public var profile: String?
    /// The steps in order.
    public var steps: [Step]

    /// Creates a case.
    public init(name: String, title: String = "", profile: String? = nil, steps: [Step] = []) {
      self.name = name
      self.title = title
      self.profile = profile
      self.steps = steps
    }
  }

  /// A line of a case.
  public struct Step: Sendable, Equatable {
    /// The action.
    public var action: Action
    /// The bearer of a PDU: 0 for the unenhanced one, otherwise the number of an enhanced one.
    public var bearer: Int
    /// The line of the file, from 1; 0 without a file. Ignored by `==`.
    public var line: Int

    /// Creates a step.
    public init(_ action: Action, bearer: Int = 0, line: Int = 0) {
      self.action = action
      self.bearer = bearer
      self.line = line
    }

    public static func == (a: Step, b: Step) -> Bool {
      a.action == b.action && a.bearer == b.bearer
    }
  }

  /// An action in a case.
  public enum Action: Sendable, Equatable {
    /// `>`: the client sends this PDU, which may be empty.
    case client([UInt8])
    /// `<`: the server sends a matching PDU.
    case server(Pattern)
    /// `wait`: time passes.
    case wait(Duration)
    /// `silence`: neither side sends anything for this time.
    case silence(Duration)
    /// `security`: the link now has this security.
    case security(LinkSecurity)
    /// `procedure`: the client starts this GATT procedure (its name, then its arguments). Ignored when
    /// the case is played against a server.
    case procedure([String])
    /// `result`: the result of the client's oldest procedure or value without one. Ignored when the
    /// case is played against a server.
    case result([String])
    /// `database`: the server's database changes.
    case database(DatabaseChange)
    /// `notify`: the server notifies its client of one value, or several in one PDU.
    case notify([Value])
    /// `indicate`: the server indicates this value to its client.
    case indicate(Value)
    /// `bond`: client and server are bonded from now on. With a key (16 octets) the client can sign
    /// writes.
    case bond(key: [UInt8]?)
    /// `client`: the following lines belong to this client, 1 to 9, each with its own link. A case
    /// starts with client 1.
    case turn(Int)
    /// `bearers`: the client encrypts its link and opens 1 to 5 enhanced bearers, each with this
    /// ATT_MTU (64 to 65535). They are numbered in this order, from 1 on each link.
    case bearers(count: Int, mtu: Int)
    /// `close`: the enhanced bearer with this number ends. Its link continues.
    case close(bearer: Int)
    /// `reconnect`: the client disconnects and connects again.
    case reconnect
    /// `disconnect`: the link ends. Only `result`, `database`, `client`, `wait` and `reconnect` may
    /// follow.
    case disconnect
  }

  /// A change of the server's database.
  public enum DatabaseChange: Sendable, Equatable {
    /// The services of a profile are added. The path is relative to the transcript's folder.
    case add(String)
    /// The service with its declaration at this handle is removed.
    case remove(AttributeHandle)
  }

  /// A notified or indicated value.
  public struct Value: Sendable, Equatable {
    /// The attribute's handle.
    public var handle: AttributeHandle
    /// The value.
    public var octets: [UInt8]

    /// Creates a value.
    public init(_ handle: AttributeHandle, _ octets: [UInt8]) {
      self.handle = handle
      self.octets = octets
    }
  }

  /// A pattern for PDUs.
  public struct Pattern: Sendable, Equatable {
    /// The first octets; nil matches any octet.
    public var octets: [UInt8?]
    /// Whether any further octets may follow.
    public var isOpen: Bool

    /// Creates a pattern.
    public init(_ octets: [UInt8?], isOpen: Bool = false) {
      self.octets = octets
      self.isOpen = isOpen
    }

    /// The only PDU that matches; nil if several do.
    public var bytes: [UInt8]? {
      guard !isOpen else { return nil }
      var bytes: [UInt8] = []
      for octet in octets {
        guard let octet else { return nil }
        bytes.append(octet)
      }
      return bytes
    }

    /// Whether a PDU matches.
    public func matches(_ pdu: some Collection<UInt8>) -> Bool {
      guard isOpen ? pdu.count >= octets.count : pdu.count == octets.count else { return false }
      return zip(octets, pdu).allSatisfy { $0 == nil || $0 == $1 }
    }
  }
}
