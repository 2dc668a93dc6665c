import Atto
import AttoGATT

// A server's database as `discover` and the commands for its parts show it: lines of text, and the
// fields in JSON without the parts.

extension Service {
  package var line: String { "\(handle)-\(endGroupHandle)  \(Shown.named(uuid, .service))" }

  package var json: JSONObject {
    [
      "handle": Shown.json(handle), "endHandle": Shown.json(endGroupHandle),
      "uuid": Shown.json(uuid), "primary": isPrimary,
    ]
  }

  package func wholeJSON(_ values: PeerValues?) -> JSONObject {
    json.adding([
      "includes": includes.map(\.json),
      "characteristics": characteristics.map { characteristic in
        let format = values?.presentation(of: characteristic)
        let value = values?.json(characteristic.valueHandle, characteristic.uuid, format) ?? [:]
        return characteristic.json.adding(value).adding([
          "descriptors": characteristic.descriptors.map {
            $0.json.adding(values?.json($0.handle, $0.uuid, nil) ?? [:])
          }
        ])
      },
    ])
  }
}

extension IncludedService {
  package var range: String { "\(startHandle)-\(endGroupHandle)  \(Shown.named(uuid, .service))" }

  package var json: JSONObject {
    [
      "handle": Shown.json(handle), "startHandle": Shown.json(startHandle),
      "endHandle": Shown.json(endGroupHandle), "uuid": Shown.json(uuid),
    ]
  }
}

extension Characteristic {
  package var propertyList: String {
    "[" + Shown.properties(properties).joined(separator: ", ") + "]"
  }

  package var json: JSONObject {
    [
      "handle": Shown.json(declarationHandle), "valueHandle": Shown.json(valueHandle),
      "properties": Shown.properties(properties), "uuid": Shown.json(uuid),
    ]
  }
}

extension Descriptor {
  package var json: JSONObject { ["handle": Shown.json(handle), "uuid": Shown.json(uuid)] }
}
