import Glibc

extension Configuration {
  /// What is allowed and rarely meant, each with what to do about it: devices that strangers could use, and
  /// secrets that they could read. Looks at the permissions of files.
  ///
  /// - Parameter file: this configuration's own file.
  package func warnings(file: String) -> [String] {
    var found: [String] = []
    if let esphome, esphome.key == nil, !esphome.listen.isLocal {
      found.append(
        "esphome: without encryption at \(esphome.listen), everybody in the network can use the devices\n"
          + "hint: set \"key\", or \"listen\": \"127.0.0.1:6053\"")
    }
    if let metrics, !metrics.isLocal {
      found.append(
        "metrics: everybody in the network can read them at \(metrics)\n"
          + "hint: \"metrics\": \"127.0.0.1:9273\", behind a server that asks for a password")
    }
    if let mqtt {
      for broker in mqtt.brokers
      where mqtt.passwordFile != nil && !broker.usesTLS && !broker.place.isLocal {
        found.append("mqtt: the password goes to \(broker) in clear text\nhint: use mqtts://")
      }
      if mqtt.connectsAny {
        found.append(
          "mqtt: with \"connectAny\", every client that can publish below \"\(mqtt.topic)\" can use every "
            + "device in range\nhint: let the broker's access list say which clients those are")
      }
    }
    let secrets = [mqtt?.passwordFile, mqtt?.keyFile, esphome?.keyFile, hasSecrets ? file : nil]
    for case let path? in secrets where Self.isReadByOthers(path) {
      found.append(
        "\(path): other users of this machine can read its secrets\nhint: chmod o= \(path)")
    }
    return found
  }

  /// Whether a key or a passkey is in the file itself.
  private var hasSecrets: Bool {
    esphome?.key != nil && esphome?.keyFile == nil || devices.contains { $0.passkey != nil }
  }

  private static func isReadByOthers(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o004 != 0
  }
}

extension ListeningPlace {
  /// Whether only this machine can reach it.
  var isLocal: Bool {
    switch self {
    case .unix: true
    case .internet(let host, _): host == "::1" || host == "localhost" || host.hasPrefix("127.")
    }
  }
}

extension Configuration.MQTT.Broker {
  fileprivate var place: ListeningPlace { .internet(host: host, port: port) }
}
