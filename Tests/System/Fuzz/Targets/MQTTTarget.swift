import AttoATT
import AttoGateway
import AttoText

@testable import AttoMQTT

/// What the gateway has from a broker: requests, and the digests of other gateways of its fleet; and values
/// of devices on their way there. The first octet chooses; for requests the rest is the topic, a zero and
/// the payload.
///
/// Rules: a request is within its limits or a mistake that is told in a short answer, and the answer is
/// JSON and repeats the `id`; a control writes nothing but what it is configured for; a digest reads back; whatever other gateways tell, a fleet holds what it has
/// connected to and not released, within its slots; a value is published as JSON.
enum MQTTTarget {
  private static let names = TopicNames(prefix: "atto", gateway: "hall", fleet: nil)
  private static let controls: [ControlConfiguration] = {
    let text = """
      {"name": "hall", "devices": [{"name": "x", "match": {"localName": "x"}, "controls": [
        {"component": "switch", "name": "s", "characteristic": "A001", "on": "hex:01", "off": "hex:00"},
        {"component": "number", "name": "n", "characteristic": "A002", "format": "int16", "scale": 0.1,
         "min": -5, "max": 30},
        {"component": "text", "name": "t", "characteristic": "A004", "max": 8}]}]}
      """
    return (try? Configuration(json: Array(text.utf8)))?.devices.first?.controls ?? []
  }()

  static func take(_ input: [UInt8]) {
    let rest = Array(input.dropFirst())
    guard let kind = input.first else { return }
    switch kind % 5 {
    case 0: request(rest, isRaw: false)
    case 1: request(rest, isRaw: true)
    case 2: digest(rest)
    case 3: fleet(rest)
    default: value(rest)
    }
  }

  // MARK: - Requests

  private static func request(_ input: [UInt8], isRaw: Bool) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let text = String(decoding: parts[0], as: UTF8.self)
    let level = TopicNames.level(text)
    Failure.unless(
      1...TopicNames.levelLimit ~= level.utf8.count
        && !level.utf8.contains { [0x23, 0x2B, 0x2F].contains($0) || $0 < 0x20 },
      "a name is one level of a topic", level)
    guard parts.count == 2, let topic = RequestTopic("atto/hall/" + text, in: names) else { return }
    Failure.unless(path(topic) == text, "a topic reads back", text)
    let id: JSON?
    var answer: Answer
    do throws(Request.Mistake) {
      var control: ControlConfiguration?
      if case .set(_, let name) = topic { control = controls.first { $0.name == name } }
      let request = try Request(topic, Array(parts[1]), isRaw: isRaw, control: control)
      Failure.trace("\(request.action)")
      check(request.action)
      id = request.id
      answer = Answer(id: id, via: "hall")
      answer.done()
    } catch {
      Failure.trace(error.message)
      Failure.unless(!error.message.isEmpty, "a mistake is told with words")
      id = error.id
      answer = Answer(id: id, via: "hall")
      answer.error(error.kind, error.message)
    }
    let payload = answer.payload
    let member = object(payload).first
    Failure.unless(payload.count < 2048, "an answer is short", "\(payload.count)")
    Failure.unless(
      id == nil || member.map { $0.name == "id" && $0.value == id } ?? false,
      "the id is repeated", String(decoding: payload, as: UTF8.self))
    switch topic {
    case .set(_, let name), .get(_, let name), .subscribe(_, let name):
      if case .handle(let handle)? = try? RequestObject.reference(name) {
        Failure.unless(handle.rawValue > 0, "a handle is one", name)
      }
    default: return
    }
  }

  private static func path(_ topic: RequestTopic) -> String {
    switch topic {
    case .scan: "scan"
    case .restart: "restart"
    case .updates: "update"
    case .sequence(let device): "\(device)/sequence"
    case .passkey(let device): "\(device)/passkey"
    case .requests(let device): "\(device)/requests"
    case .update(let device): "\(device)/update"
    case .set(let device, let characteristic): "\(device)/\(characteristic)/set"
    case .get(let device, let characteristic): "\(device)/\(characteristic)/get"
    case .subscribe(let device, let characteristic): "\(device)/\(characteristic)/subscribe"
    }
  }

  private static func check(_ action: Request.Action) {
    let isWithin =
      switch action {
      case .write(let value, _): value.count <= Request.valueLimit
      case .control(let command, let control): isConfigured(command.effect, control)
      case .answer(.passkey(let digits), _): digits <= 999_999
      case .update(let plan): 0...15 ~= plan.image
      case .steps(let steps):
        1...Request.stepLimit ~= steps.count
          && steps.allSatisfy { step in
            switch step {
            case .read: true
            case .write(_, let value, _): value.count <= Request.valueLimit
            case .pause(let time): Duration.zero ... .seconds(60) ~= time
            case .expect(_, let value, let time):
              value.count <= Request.valueLimit && Duration.zero ... .seconds(60) ~= time
            }
          }
      default: true
      }
    Failure.unless(isWithin, "a request is within its limits", "\(action)")
  }

  private static func isConfigured(
    _ effect: ControlConfiguration.Effect, _ control: ControlConfiguration
  ) -> Bool {
    guard case .write(let octets) = effect else { return false }
    return switch control.content {
    case .choices: [[0], [1]].contains(octets)
    case .number(let number): number.number(octets).map { -5...30 ~= $0 } ?? false
    case .text: octets.count <= 8 && String(validating: octets, as: UTF8.self) != nil
    }
  }

  private static func object(_ payload: [UInt8]) -> [JSON.Member] {
    guard case .object(let members)? = (try? JSONParser.parse(payload))?.content else {
      Failure.broken("what is published is JSON", String(decoding: payload, as: UTF8.self))
    }
    return members
  }

  // MARK: - Fleets

  private static func digest(_ input: [UInt8]) {
    guard let digest = Fleet.Digest(input) else { return }
    let payload = digest.payload
    Failure.unless(
      payload.count > Fleet.Digest.octetLimit || Fleet.Digest(payload) == digest,
      "a digest reads back", String(decoding: payload, as: UTF8.self))
  }

  private static func fleet(_ input: [UInt8]) {
    let (slots, devices) = (3, ["a", "b", "c", "d"])
    var fleet = Fleet(name: "m", slots: slots)
    for device in devices { fleet.add(device) }
    var now: Int64 = 0
    var connected: Set<String> = []
    var octets = input[...]
    /// The devices of the set bits.
    func chosen() -> Set<String> {
      let bits = octets.popFirst() ?? 0
      return Set(devices.indices.filter { bits >> $0 & 1 != 0 }.map { devices[$0] })
    }
    while let operation = octets.popFirst() {
      let argument = octets.popFirst() ?? 0
      let device = devices[Int(argument % 4)]
      let gateway = ["k", "l", "n", "m"][Int(argument / 4 % 4)]
      now += [0, 600, 5000, 25_000][Int(operation >> 6)]
      switch operation % 8 {
      case 0: fleet.heard(device, -Int(argument / 2), at: now)
      case 1:
        var digest = Fleet.Digest(gateway: gateway, free: Int(argument >> 4))
        (digest.holds, digest.claims) = (chosen(), chosen())
        for device in chosen() { digest.heard[device] = -Int(octets.popFirst() ?? 0) }
        fleet.receive(digest, at: now)
      case 2: fleet.gone(gateway)
      case 3: fleet.linked(device, argument & 4 != 0, at: now)
      case 4: fleet.alone()
      case 5:
        fleet.remove(device)
        connected.remove(device)
        fleet.add(device)
      case 6: fleet.announce()
      default: break
      }
      for action in fleet.tick(at: now) {
        Failure.trace("\(now): \(action)")
        switch action {
        case .connect(let device):
          Failure.unless(connected.insert(device).inserted, "connects once", device)
        case .release(let device):
          Failure.unless(connected.remove(device) != nil, "releases what it has", device)
        case .publish(let digest):
          Failure.unless(
            digest.holds.isDisjoint(with: digest.claims)
              && digest.holds.union(digest.claims) == connected
              && digest.free == slots - connected.count && Fleet.Digest(digest.payload) == digest,
            "a digest tells what is", "\(digest)")
        }
      }
      Failure.unless(
        fleet.holds == connected && connected.count <= slots,
        "holds what it has connected to and not released", "\(fleet.holds), \(connected)")
      Failure.unless(connected.allSatisfy(fleet.answers), "answers for what it holds")
    }
  }

  // MARK: - Values

  private static func value(_ input: [UInt8]) {
    guard let number = input.first else { return }
    let octets = Array(input.dropFirst())
    let topic = ValueTopic(
      "t", of: BluetoothUUID(0x2A00 + UInt16(number)), decodes: true, style: .json, via: "hall")
    var clock = WallTime.Clock()
    let members = object(topic.value(octets, at: clock.at(0)).payload)
    Failure.unless(
      members.first?.value.content == .string(Hex.text(octets)), "a value is there", hex(input))
  }

  static var seeds: [[UInt8]] {
    let requests = [
      ("strap/2a39/set", "0a ff"), ("strap/2a39/set", #"{"text":"ab","response":false,"id":7}"#),
      ("strap/0x0013/set", #"{"base64":"AQI="}"#), ("strap/2a37-0x0010/get", #"{"id":{"a":[1]}}"#),
      ("strap/180d.2a37/subscribe", "off"), ("strap/rate/subscribe", #"{"on":true}"#),
      ("strap/sequence", "poll"), ("strap/sequence", #"{"name":"poll","id":"x"}"#),
      (
        "strap/sequence",
        #"{"steps":[{"write":"2a39","value":"01"},{"pauseMilliseconds":5},"#
          + #"{"expect":"0x0013","value":"00","withinMilliseconds":9},{"read":"180d/2a37"}]}"#
      ),
      ("strap/passkey", #"{"question":"0f","answer":"012345"}"#),
      ("strap/passkey", #"{"question":"0f","answer":"yes"}"#),
      ("scan", "active"), ("scan", #"{"active":false}"#),
    ]
    let digest =
      #"{"gateway":"hall","free":60,"holds":["strap"],"claims":["a"],"heard":{"scale":-61}}"#
    let texts = requests.map { topic, payload in Array(topic.utf8) + [0] + Array(payload.utf8) }
    let others: [[UInt8]] = [
      [2] + Array(digest.utf8),
      // Hears a device, connects, and another gateway has it.
      [3, 0, 0, 0x80, 0, 0x47, 0, 1, 0, 1, 0, 0, 0xC7, 0],
      // Hears one, holds it, and hands it over to a gateway that hears it better.
      [3, 0, 200, 0x80, 200, 3, 4, 0x81, 0xF0, 0, 0, 1, 30, 0x80, 200, 0xC0, 200, 0x80, 200],
      [3, 0, 1, 0x81, 4, 1, 2, 3, 9, 9, 0x42, 4, 5, 1, 6, 0, 4, 0],
      [4, 0x37, 0, 72], [4, 0x19, 100],
    ]
    return texts.map { [0] + $0 } + texts.map { [1] + $0 } + others
  }
}
