import ATT

/// Conformance cases as lines of PDUs: what a `.att` file holds; the catalog's page describes
/// the format.
public struct Transcript: Sendable, Equatable {
  /// The profile that the server serves in every case that names none of its own, as written:
  /// a path relative to the transcript's folder.
  public var profile: String?
  /// The tests, in the order of the file.
  public var cases: [Case]

  /// One with these values; its properties say what each means.
  public init(profile: String? = nil, cases: [Case] = []) {
    self.profile = profile
    self.cases = cases
  }

  /// The profile of one of the cases.
  public func profile(of test: Case) -> String? { test.profile ?? profile }

  /// One test, on a link of its own.
  public struct Case: Sendable, Equatable {
    /// The name of the conformance case, `GAR/SR/BV-01-C`: one word.
    public var name: String
    /// What it shows; may be empty.
    public var title: String
    /// The profile of this case, as written.
    public var profile: String?
    /// What happens, in order.
    public var steps: [Step]

    /// One with these values; its properties say what each means.
    public init(name: String, title: String = "", profile: String? = nil, steps: [Step] = []) {
      self.name = name
      self.title = title
      self.profile = profile
      self.steps = steps
    }
  }

  /// One line of a case.
  public struct Step: Sendable, Equatable {
    /// What happens.
    public var action: Action
    /// The line of the file, from 1; 0 if it came from none. Not part of equality.
    public var line: Int

    /// One with these values; its properties say what each means.
    public init(_ action: Action, line: Int = 0) {
      self.action = action
      self.line = line
    }

    public static func == (a: Step, b: Step) -> Bool { a.action == b.action }
  }

  /// What a line of a case says.
  public enum Action: Sendable, Equatable {
    /// `>`: this PDU goes from the client to the server. Empty is a PDU of no octets.
    case client([UInt8])
    /// `<`: a PDU like this comes from the server to the client.
    case server(Pattern)
    /// `wait`: the clock moves on.
    case wait(Duration)
    /// `silence`: for so long neither side sends anything.
    case silence(Duration)
    /// `security`: the link is now protected like this.
    case security(LinkSecurity)
    /// `procedure`: the client begins this GATT procedure: its name, then its arguments. A
    /// player of the client's part carries it out; to a player of the server's part it is
    /// nothing.
    case procedure([String])
    /// `result`: what the oldest procedure or value without a result has brought the client.
    /// For players of the client's part alone.
    case result([String])
    /// `database`: the server's database changes.
    case database(DatabaseChange)
    /// `notify`: the server's application notifies these values of its client: one, or several
    /// together.
    case notify([Value])
    /// `indicate`: the server's application indicates this value to its client.
    case indicate(Value)
    /// `bond`: client and server are bonded from here on; with a key (16 octets) the client
    /// may sign its writes with it.
    case bond(key: [UInt8]?)
    /// `client`: the lines that follow are those of this client of the server, from 1 to 9,
    /// each on a link of its own. A case begins with the first.
    case turn(Int)
    /// `reconnect`: the link ends, and the client comes back on another.
    case reconnect
    /// `disconnect`: the link ends. Only what needs none may follow, or brings another:
    /// `result`, `database`, `client`, `wait`, `reconnect`.
    case disconnect
  }

  /// How the server's database changes meanwhile.
  public enum DatabaseChange: Sendable, Equatable {
    /// The services of this profile are added; the path is as written, relative to the
    /// transcript's folder.
    case add(String)
    /// The service whose declaration is here is removed.
    case remove(AttributeHandle)
  }

  /// A value that a server sends unasked.
  public struct Value: Sendable, Equatable {
    /// The attribute.
    public var handle: AttributeHandle
    /// The value.
    public var octets: [UInt8]

    /// One with these values; its properties say what each means.
    public init(_ handle: AttributeHandle, _ octets: [UInt8]) {
      self.handle = handle
      self.octets = octets
    }
  }

  /// What a PDU may look like.
  public struct Pattern: Sendable, Equatable {
    /// The octets from the first on; nil is any octet.
    public var octets: [UInt8?]
    /// Whether any number of further octets may follow.
    public var isOpen: Bool

    /// A PDU that begins like this, and ends there unless it is open.
    public init(_ octets: [UInt8?], isOpen: Bool = false) {
      self.octets = octets
      self.isOpen = isOpen
    }

    /// The only PDU that matches, or nil where several do. What a player of the server's part
    /// sends.
    public var bytes: [UInt8]? {
      guard !isOpen else { return nil }
      var bytes: [UInt8] = []
      for octet in octets {
        guard let octet else { return nil }
        bytes.append(octet)
      }
      return bytes
    }

    /// Whether this PDU looks like the pattern.
    public func matches(_ pdu: some Collection<UInt8>) -> Bool {
      guard isOpen ? pdu.count >= octets.count : pdu.count == octets.count else { return false }
      return zip(octets, pdu).allSatisfy { $0 == nil || $0 == $1 }
    }
  }
}
