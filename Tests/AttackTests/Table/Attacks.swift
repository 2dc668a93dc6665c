/// One line of the table: something that broke another stack, and what holds it off here.
///
/// The tests of this folder are found by their names (`H7 server: ...`); what else shows it is
/// named here, and so is why a role has no test.
struct Attack {
  let name: String
  let title: String
  /// Who fell over it.
  let broke: String
  /// Why it cannot be tried on this role; nil if it can.
  var noServer: String?
  var noClient: String?
  /// Tests elsewhere, `Target/.../File.swift: function`, and transcripts, `transcript NAME`.
  var also: [String] = []

  init(
    _ name: String, _ title: String, _ broke: String, noServer: String? = nil,
    noClient: String? = nil, also: [String] = []
  ) {
    self.name = name
    self.title = title
    self.broke = broke
    self.noServer = noServer
    self.noClient = noClient
    self.also = also
  }

  private static let everyOpcode = [
    "GATTTests/Hostile/HostileClientTests.swift: everyLengthOfEveryOpcode",
    "GATTTests/Hostile/HostileClientTests.swift: everyLengthInFlight",
    "HostilityTests/ServerUnderAttackTests.swift: theCatalogue",
  ]

  /// The published ones. There is no H25.
  static let published: [Attack] = [
    Attack("H1", "a chain of prepared writes past 512 octets", "BlueZ, CVE-2022-0204"),
    Attack("H2", "an offset beyond a value of one octet", "BlueZ, CVE-2021-3588"),
    Attack(
      "H3", "a permission that wants security, bypassed", "BlueZ, CVE-2021-0129",
      also: ["GATTTests/Server/PermissionTests.swift: reading"]),
    Attack(
      "H4", "the link ends with requests pending; callbacks call again", "BlueZ, CVE-2020-27153",
      also: [
        "AttoTests/EndTests.swift: endsFromWithinHandlers",
        "AttoTests/EndTests.swift: cancellationInAnyOrder",
      ]),
    Attack(
      "H5", "a tuple of a multiple notification beyond the PDU", "BlueZ",
      also: ["ATTTests/PDU/PDULengthTests.swift: h5MultipleNotificationTupleBeyondThePDU"]),
    Attack(
      "H6", "a multiple notification that fills its buffer", "BlueZ",
      also: ["ATTTests/PDU/PDULengthTests.swift: h6MultipleNotificationThatFillsThePDU"]),
    Attack("H7", "Read Multiple: slow reads, and permissions past ATT_MTU", "BlueZ"),
    Attack("H8", "a response built with another bearer's ATT_MTU", "BlueZ"),
    Attack(
      "H9", "a second exchange of ATT_MTU with less", "BlueZ",
      also: ["transcript ATT/MTU/SR/repeated"]),
    Attack("H10", "Exchange MTU twice, back to back", "SweynTooth, CVE-2019-19192"),
    Attack(
      "H11", "a peer's handle 0x0000 or reversed range", "BlueZ",
      also: ["transcript ATT/DISCOVERY/CL/handle-0", "transcript ATT/DISCOVERY/SR/ranges"]),
    Attack(
      "H12", "more than 512 octets of a value at an ATT_MTU of 517", "Android, CVE-2023-21250"),
    Attack("H13", "a prepared write's echo, mismatched or oversized", "Android, CVE-2023-20951"),
    Attack("H14", "a length in a Read Multiple response, underflowing", "Android, CVE-2023-35673"),
    Attack(
      "H15", "building a Read or Read By Type response, overflowing", "Android, CVE-2024-0039"),
    Attack(
      "H16", "the length of a notification, out of bounds", "Android",
      also: [
        "ATTTests/Bearer/ServerSideTests.swift: h16NotificationsAndIndicationsShorterThanThreeOctets"
      ]),
    Attack("H17", "a response used after its callback freed it", "Android"),
    Attack(
      "H18", "a loop while what remains is not negative, unsigned", "Android",
      also: ["ATTTests/PDU/PDULengthTests.swift: h18OneOctetAfterTheLastTuple"]),
    Attack("H19", "an opcode as an index into a table", "Android", also: everyOpcode),
    Attack(
      "H20", "something invalid, and the link gone at once", "Zephyr, CVE-2021-3455",
      also: ["AttoTests/ServerTests.swift: clientLeavesWhileItsHandlerThinks"]),
    Attack(
      "H21", "an SDU of one octet; credits beyond their number",
      "Zephyr, CVE-2021-3454, 3434 and 3435"),
    Attack("H22", "a Prepare Write Response in segments", "-"),
    Attack(
      "H23", "the permission to notify, taken from the declaration", "Zephyr, CVE-2026-2411",
      noClient: "the permission is the server's; a client has none to take from anywhere"),
    Attack(
      "H24", "a permission for Secure Connections alone, skipped", "Zephyr, CVE-2024-1638",
      also: ["AttoTests/SecurityOnDemandTests.swift: SecurityOnDemandTests"]),
    Attack(
      "H26", "Client Supported Features written too long", "NimBLE",
      noClient: "a client writes these features and keeps none of a peer's"),
    Attack(
      "H27", "an Error Response with the code 0x00 in discovery", "CircuitPython",
      also: [
        "transcript ATT/DISCOVERY/CL/code-0",
        "GATTTests/Client/DiscoverDatabaseTests.swift: everyOtherErrorIsAFailure",
      ]),
    Attack(
      "H28", "a notification before the response to its subscription", "bleak",
      also: ["AttoTests/ValueTests.swift: valuesBeforeTheResponseAreNotLost"]),
    Attack(
      "H29", "two centrals that reconnect rapidly", "Silicon Labs, CVE-2024-6657",
      also: ["AttoTests/ServerTests.swift: twoCentralsReconnectRapidly"]),
  ]

  /// What is next to them.
  static let neighbours: [Attack] = [
    Attack("N1", "the empty PDU", "-", also: ["transcript ATT/PDU/SR/unasked"]),
    Attack(
      "N2", "a value shorter than its handle", "-",
      noServer: "what comes to a server in this form comes to it as a client: H16",
      noClient: "H16 is this",
      also: [
        "ATTTests/Bearer/ServerSideTests.swift: h16NotificationsAndIndicationsShorterThanThreeOctets"
      ]),
    Attack("N3", "a PDU longer than ATT_MTU", "-", also: ["transcript ATT/ERROR/SR/0x04/long"]),
    Attack(
      "N4", "two long writes at once", "-",
      also: [
        "GATTTests/Server/PreparedWriteTests.swift: twoLongWritesAtOnce",
        "GATTTests/Session/PrepareQueueTurnsTests.swift: PrepareQueueTurnsTests",
        "transcript ATT/QUEUE/SR/of-a-client",
      ]),
    Attack(
      "N5", "every length of every opcode", "-",
      noServer: "tried elsewhere, with a server of everything",
      noClient: "tried elsewhere, with a request and an indication in flight", also: everyOpcode),
    Attack(
      "N6", "Read By Type with entries of no length, or that do not divide", "-",
      noServer: "a server receives no such list", also: ["transcript ATT/DISCOVERY/CL/not-dividing"]
    ),
    Attack(
      "N7", "discovery whose handles do not advance", "-",
      noServer: "a server discovers nothing", also: ["transcript ATT/DISCOVERY/CL/not-rising"]),
    Attack(
      "N8", "responses and confirmations that nothing waits for", "-",
      also: ["transcript ATT/PDU/SR/unasked", "transcript ATT/RESPONSE/CL/unasked"]),
    Attack(
      "N9", "a second indication before the confirmation", "-",
      also: ["transcript ATT/INDICATION/SR/one-at-a-time"]),
    Attack("N10", "pipelined requests", "-", also: ["transcript GATT/SR/GAR/BI-45-C"]),
    Attack(
      "N11", "an answer at 29.9 s and at 30.1 s", "-",
      also: [
        "transcript ATT/TIMEOUT/CL/29.9s", "transcript ATT/TIMEOUT/CL/30.1s",
        "transcript ATT/TIMEOUT/SR/29.9s", "transcript ATT/TIMEOUT/SR/confirmed-29.9s",
        "transcript ATT/TIMEOUT/SR/confirmed-30.1s",
      ]),
    Attack(
      "N12", "the prepare queue exhausted, by one client and by many", "-",
      also: [
        "GATTTests/Hostile/HostileClientTests.swift: thePrepareQueueExhaustedByMany",
        "transcript ATT/ERROR/CL/0x09",
      ]),
    Attack(
      "N13", "the database changed in the middle of a queue, and of discovery", "-",
      also: [
        "transcript GATT/SR/GAW/BI-41-C",
        "GATTTests/Client/DiscoverDatabaseTests.swift: databaseThatChangesInMidDiscovery",
      ]),
  ]
}
